"""What is recorded of runs: each attempt once, and values as plain data."""

import datetime
import enum
import json
import operator
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from hosted_graphs import Walk, WalkRun, log, opened, ran
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END
from langgraph.types import RetryPolicy
from pydantic import BaseModel
from shapes import graph
from typing_extensions import TypedDict

from loopwright import NodePolicy, Retry, bounded
from loopwright.engine.events.schema import NodeFinished, NodeStarted, StateSaved, run_event
from loopwright.runs.hub import RunHub
from loopwright.runs.plain import USUAL, Bounds, plain, shortened
from loopwright.runs.recording import EVENT, Recorder, written
from loopwright.runs.store import open_runs
from loopwright.testing import always
from loopwright.workflows.user_graph import UserGraph

AT_ONCE = RetryPolicy(max_attempts=3, initial_interval=0.0, jitter=False, retry_on=LookupError)


class State(TypedDict, total=False):
    question: str
    path: Annotated[list[str], operator.add]


def failing(times: int, error: type[Exception] = LookupError, asynchronous: bool = True) -> Any:
    """A node that fails so many times in each visit."""
    left = [times]

    def fail() -> dict[str, Any]:
        always("a word").invoke("?")
        if left[0]:
            left[0] -= 1
            raise error(f"{left[0]} left; the key is sk-{'x' * 20}")
        left[0] = times
        return {"path": ["there"]}

    async def afail(state: State) -> dict[str, Any]:
        return fail()

    return afail if asynchronous else lambda state: fail()


async def recorded(app: Any, folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """The status and the events of a run of a graph."""
    async with opened(folder, UserGraph("own", app)) as hub:
        run = await ran(hub, {"question": "?"}, "own")
        return run.status, [json.loads(event.data) for event in await log(hub, run.id)]


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_each_failed_attempt_of_a_retry_policy_is_an_event_between_the_nodes_own(tmp_path, asynchronous):
    fetch = {"action": failing(2, asynchronous=asynchronous), "retry_policy": AT_ONCE}
    nodes = {"before": failing(0), "fetch": fetch, "after": {"action": failing(0), "retry_policy": AT_ONCE}}
    made = graph("START-before before-fetch fetch-after after-END", State, **nodes)
    status, events = await recorded(made.compile(), tmp_path)
    assert status == "finished"
    retried = [event for event in events if event["type"] == "node_retried"]
    told = [(each["node"], each["attempt"], each["attempts"], each["kind"], each["rule"]) for each in retried]
    assert told == [("fetch", number, 3, "LookupError", "retry_policy") for number in (1, 2)]
    assert [each["message"] for each in retried] == ["1 left; the key is ***", "0 left; the key is ***"]
    (begun,) = [event for event in events if event["type"] == "node_started" and event["node"] == "fetch"]
    assert all(each["wait"] >= 0 and each["tasks"] == [begun["task_id"]] for each in retried)
    told = [event.get("text", event["type"]) for event in events if event.get("node") == "fetch"]
    assert [each for each in told if each != "model_called"][2:] == ["node_retried", "a word", "node_finished"]


async def test_what_no_policy_covers_is_not_repeated_and_each_visit_counts_anew(tmp_path):
    made = graph("START-fetch fetch-END", State, fetch=failing(1, KeyError))
    status, events = await recorded(made.compile(), tmp_path)
    assert status == "failed"
    assert not [event for event in events if event["type"] == "node_retried"]
    again = {"fetch": lambda state: "fetch" if len(state["path"]) < 3 else END}
    fetch = {"action": failing(1), "retry_policy": AT_ONCE}
    made = graph("START-fetch fetch?fetch fetch?END", State, again, fetch=fetch)
    status, events = await recorded(bounded(made, limit=5), tmp_path)
    assert status == "finished"
    assert [event["attempt"] for event in events if event["type"] == "node_retried"] == [1, 1, 1]


async def test_a_node_under_a_policy_of_loopwright_is_told_of_once(tmp_path):
    rule = Retry(on=LookupError, retries=2, initial_wait=0.0, jitter=False)
    fetch = {"action": failing(2), "policy": NodePolicy(retries=(rule,))}
    made = graph("START-fetch fetch-END", State, fetch=fetch)
    status, events = await recorded(bounded(made), tmp_path)
    assert status == "finished"
    retried = [event for event in events if event["type"] == "node_retried"]
    assert [each["attempt"] for each in retried] == [1, 2]
    assert all(each["rule"] != "retry_policy" and len(each["tasks"]) == 1 for each in retried)


class Broken:
    def __repr__(self) -> str:
        raise ValueError("no")


class Colour(enum.Enum):
    RED = "red"


class Model(BaseModel):
    api_key: str = "k"
    size: int = 1


@dataclass
class Data:
    password: str
    where: Path


LOOP: list[Any] = []
LOOP.append(LOOP)

BROKEN = {
    "nan": float("nan"), "infinite": float("-inf"), "surrogate": "a\ud800b", "nul": "a\0b", "object": Broken(),
    "itself": LOOP, "huge": 10**6000, "generator": (each for each in "ab"), "class": Broken, "function": print,
    "set": {1, Broken}, "keys": {None: 1, (1, 2): 2, "\udfff": 3},
}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan"),
        ("a\ud800b", "a\N{REPLACEMENT CHARACTER}b"),
        ("\ud83d\ude00", "\N{GRINNING FACE}"),
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
        (Colour.RED, "red"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (b"12345", "<5 bytes>"),
        (2**70, str(2**70)),
        (Broken(), "<Broken that cannot be shown: ValueError>"),
        (Model(), {"api_key": "***", "size": 1}),
        (Data("x", Path("a/b")), {"password": "***", "where": "a/b"}),
        (known := {"input_tokens": 7, "token_budget": 5, "tokenizer": "word", "api_key": None, "use_cookies": True}, known),
        ({"token": 7, "tokenSecret": 7, "token_id": "x", "headers": {"Authorization": "x"}},
         {"token": "***", "tokenSecret": "***", "token_id": "***", "headers": {"Authorization": "***"}}),
        ([0.25] * 384, [*[0.25] * 8, "… 376 more"]),
        (np.zeros((2, 3), np.float32), {"array": "float32", "shape": [2, 3], "first": [0.0] * 6}),
        (np.float64(0.5), 0.5),
        ([HumanMessage("hi"), AIMessage([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": "x"}])],
         [{"role": "human", "content": "hi"}, {"role": "ai", "content": "a\n[image_url]"}]),
        (ToolMessage("42", tool_call_id="t"), {"role": "tool", "content": "42", "tool_call_id": "t"}),
    ],
)  # fmt: skip
def test_values_in_plain_json(value: Any, shown: Any) -> None:
    assert plain(value) == shown


@pytest.mark.parametrize("part", ["1.", "eyJ-", "a-", "a://b:"])
def test_a_long_word_takes_time_in_proportion(part: str) -> None:
    begun = time.process_time()
    plain(part * 100_000)
    assert time.process_time() - begun < 5


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()))
    | st.binary() | st.sampled_from([Colour.RED, Model(), print, np.ones(3)]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
)  # fmt: skip


@given(ANYTHING)
def test_whatever_it_is_it_becomes_json_and_stays_what_it_became(value: Any) -> None:
    shown = plain(value)
    text = json.dumps(shown, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert json.loads(text) == shown
    assert plain(shown, Bounds(USUAL.text + 50, USUAL.items + 1)) == shown


def test_a_state_is_kept_as_a_difference_and_a_checkpoint_once() -> None:
    recorder = Recorder(WalkRun({}, {}, ""))
    steps: list[dict[str, Any]] = [{"a": 1, "b": [1]}, {"a": 1, "b": [1, 2], "loop_ledger": {}}, {"b": [1, 2]}]
    saved = [
        StateSaved(step=step, checkpoint_id=str(step), next=[], values=values) for step, values in enumerate(steps)
    ]
    kept = [recorder.record(event) for event in [*saved, saved[1]]]
    assert [(event.changed, event.removed) for event in kept[:3]] == [
        ({"a": 1, "b": [1]}, []), ({"b": [1, 2]}, []), ({}, ["a"]),
    ]  # fmt: skip
    assert kept[3] is None
    after = Recorder(WalkRun({}, {}, ""))
    for event in kept[:2]:
        after.replay(event)
    assert after.record(saved[1]) is None
    assert after.record(saved[2]) == kept[2]
    for end, changed in zip("xyy", ({"text", "array", "nan"}, {"text", "array"}, set()), strict=True):
        values = {"text": "x" * 30_000 + end, "array": np.array([0] * 50 + [ord(end)]), "nan": float("nan")}
        event = StateSaved(step=3, checkpoint_id=f"{end}{len(recorder.saved)}", next=[], values=values)
        assert recorder.record(event).changed.keys() == changed


def test_visits_count_on_and_a_task_that_runs_again_is_the_same_visit() -> None:
    recorder = Recorder(WalkRun({}, {}, ""))
    for task in ("one", "two"):
        recorder.replay(NodeStarted(node="plan", task_id=task, visit=1 + (task == "two")))
    again = recorder.record(NodeStarted(node="plan", task_id="two", visit=1))
    new = recorder.record(NodeStarted(node="plan", task_id="three", visit=2))
    assert (again.visit, new.visit) == (2, 3)


def test_an_event_that_is_too_large_is_shortened_further_and_can_be_read_back() -> None:
    values = {str(number): "x" * 19_000 for number in range(400)}
    recorder = Recorder(WalkRun({}, {}, ""))
    event = recorder.record(NodeFinished(node="a", task_id="t", visit=1, seconds=0, update={"all": values}))
    data = written(event)
    assert len(data) <= EVENT
    assert run_event.validate_json(data).update["all"]["…"]


def test_of_a_long_text_no_more_is_searched_than_is_shown_and_no_key_is_cut_open() -> None:
    began = time.process_time()
    shown = shortened("lorem ipsum dolor sit amet " * 740_000, 20_000)
    assert time.process_time() - began < 1, "who searches 20 MB beats no more, and loses its runs"
    assert shown.endswith("… (19,960,000 more characters)")
    key = "eyJ" + ".".join(("a" * 2000, "b" * 4000, "c" * 300))
    assert shortened(f"eyJ{'a' * 90}.{'b' * 90_000}.{'c' * 90} end", 100) == "*** end", "however long it is"
    for keys in (1, 40):
        shown = shortened(f"{'x' * 90} {f'{key} ' * keys}{'y ' * 50_000}", 100)
        assert shown.startswith(f"{'x' * 90} ***"), "a text full of keys is shown, too"
        assert "aaa" not in shown and "eyJ" not in shown


class ByReference:
    """Keeps any value in memory as it is: what cannot be saved would end the run before it can be shown."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        self._kept.append(value)
        return "reference", str(len(self._kept) - 1).encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return self._kept[int(data[1])]


async def test_no_value_breaks_a_run() -> None:
    walk = Walk()
    walk.values = BROKEN
    with closing(open_runs("memory")) as store:
        hub = RunHub(store, [walk], InMemorySaver(serde=ByReference()))
        await hub.open()
        for name in (*BROKEN, "unspeakable"):
            record = await ran(hub, {"question": "\ud800 what?\0", "anything": name})
            assert record.status == "finished", name
            assert (await log(hub, record.id))[-1].name == "run_finished"
        await hub.close()
