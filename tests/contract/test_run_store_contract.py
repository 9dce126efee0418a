"""One contract for every run history."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from chances import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres import postgres_server, postgres_url  # noqa: F401
from run_histories import BEGIN, a_run, forked_from, kept, news, shown

from loopwright.errors import AttemptLost, InputError, StoreError
from loopwright.runs.schemas import KeptEvaluation, LoopPasses, Order, PromptVersion, RunFilter, RunRecord, UsageRow
from loopwright.runs.store import KeptEvent, NewEvents, RunStore, open_runs, opening, tables
from loopwright.workflows.api import Citation, Outcome, RunChanges
from loopwright.workflows.evaluation.results import EvaluatedAnswer, Figure

Open = Callable[[], RunStore]


@pytest.fixture(params=["sqlite", pytest.param("memory", marks=pytest.mark.slow), "postgres"])
def open_history(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the same run history each time, but for that in memory."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        return lambda: open_runs(url)
    return lambda: open_runs(
        "memory" if request.param == "memory" else f"sqlite:{tmp_path / 'deep' / 'er' / 'runs.db'}"
    )


@pytest.fixture
def store(open_history: Open) -> Iterator[RunStore]:
    opened = open_history()
    yield opened
    opened.close()


def everything() -> RunRecord:
    return a_run(
        "full",
        title="Why?",
        stop_reason="replan",
        outcome_status="best_effort",
        ended_at=BEGIN + timedelta(seconds=3.000001),
        seconds=3.000001,
        model_calls=2,
        tokens=30,
        cost=0.1 + 0.2,
        quality=0.75,
        passes={"replan": 2},
        events=7,
        parent=forked_from("gone"),
        input={"question": "日本\x00語", "deep": [{"a": None, "b": 1.5, "c": True}]},
        changes=RunChanges(models={"plan": None}, prompts={"p": 3, "q": "draft"}),
        outcome=Outcome(
            answer="**So** it is.",
            citations=(Citation(mark="1", title="T", details={"page": 3}),),
            scores={"undefined": math.inf, "faithfulness": 0.5},
            details={"queries": ["a", "b"]},
        ),
        error="it broke",
        error_type="ValueError",
        error_node="plan",
        models={"plan": "openai:x", "act": None},
        prompts={"p": 1, "q": None},
        usage=(UsageRow(node=None, model="m", calls=1, input_tokens=1, output_tokens=2),),
        loops=(LoopPasses(loop="replan", passes=2, limit=2, refused="exhausted", cost=0.1),),
        path=("plan", "act"),
        tags=("one", "two"),
    )


def test_a_run_comes_back_as_it_was_given(store: RunStore) -> None:
    run = everything()
    store.create(run, shown())
    assert store.get("full") == run
    (summary,) = store.list(RunFilter()).runs
    assert type(summary) is not RunRecord
    assert summary.model_dump() == run.model_dump(include=set(type(summary).model_fields))
    assert store.get("other") is None
    assert store.get("\x00") is None


def test_an_id_is_taken_once_and_a_refused_run_changes_nothing(store: RunStore) -> None:
    store.create(a_run(title="first"), shown())
    with pytest.raises(InputError, match="'r1' already"):
        store.create(a_run(title="second"), shown("other"))
    assert store.get("r1").title == "first"
    assert store.graph("r1") == shown()


def test_each_run_has_the_graph_that_it_ran_on(store: RunStore) -> None:
    for number in range(4):
        store.create(a_run(f"r{number}"), shown("ab"[number % 2]))
    assert [store.graph(f"r{number}").name for number in range(4)] == ["a", "b", "a", "b"]
    assert store.graph("r1") == shown("b")
    assert store.graph("none") is None


def test_events_are_read_in_order_behind_a_number_and_by_channel(store: RunStore) -> None:
    store.create(a_run("a"), shown())
    store.create(a_run("b", minute=1), shown())
    store.write(events=[news("a", range(1, 4)), news("b", [1]), news("a", range(4, 8))])
    store.write(events=[news("a", [1, 2], "client")])
    assert store.events("a") == kept(range(1, 8))
    assert store.events("a", after=5) == kept([6, 7])
    assert store.events("a", after=2, limit=2) == kept([3, 4])
    assert store.events("a", limit=0) == []
    assert store.events("a", "client") == kept([1, 2])
    assert store.events("b") == kept([1])
    assert store.events("none") == []
    assert (store.count("a"), store.count("a", "client"), store.count("b"), store.count("none")) == (7, 2, 1, 0)


def test_a_portion_ends_before_it_is_too_large_but_is_never_empty(store: RunStore) -> None:
    store.create(a_run(), shown())
    events = [KeptEvent(number, "told", "x" * size) for number, size in enumerate((10, 20, 500, 10, 10, 10), 1)]
    store.write(events=[NewEvents("r1", "run", events)])
    for after, limit, most, expected in (
        (0, 100, None, [1, 2, 3, 4, 5, 6]),
        (0, 100, 30, [1, 2]),
        (0, 100, 29, [1]),
        (0, 100, 0, [1]),
        (2, 100, 30, [3]),
        (3, 100, 30, [4, 5, 6]),
        (3, 2, 30, [4, 5]),
        (0, 100, 10_000, [1, 2, 3, 4, 5, 6]),
        (6, 100, 30, []),
    ):
        assert [event.seq for event in store.events("r1", "run", after, limit, most)] == expected, (after, limit, most)


def test_a_write_that_is_repeated_adds_nothing(store: RunStore) -> None:
    store.create(a_run(), shown())
    for _ in range(2):
        store.write([a_run(events=3)], [news("r1", range(1, 4))])
    store.write([a_run(events=4)], [news("r1", range(2, 5))])
    assert store.events("r1") == kept(range(1, 5))
    assert store.get("r1").events == 4


def test_what_happens_in_runs_that_are_not_kept_is_passed_over(store: RunStore) -> None:
    store.create(a_run("a"), shown())
    store.write([a_run("a", title="new"), a_run("gone")], [news("gone", [1]), news("a", [1])])
    store.write([a_run("gone")], [news("gone", [2])])
    store.write()
    with pytest.raises(InputError, match="no run 'gone'"):
        store.begin(a_run("gone", epoch=1))
    assert store.get("gone") is None
    assert store.get("a").title == "new"
    assert store.count("a") == 1


def test_a_write_is_all_or_nothing(store: RunStore) -> None:
    store.create(a_run("a"), shown())
    broken = NewEvents("a", "run", [*kept([1]), KeptEvent(2**63, "too high a number", "{}")])
    with pytest.raises((StoreError, OverflowError)):
        store.write([a_run("a", title="new")], [broken])
    assert store.get("a").title == ""
    assert store.events("a") == []


def test_children_are_those_that_name_the_run_as_parent(store: RunStore) -> None:
    store.create(a_run("p"), shown())
    for number in (2, 1):
        store.create(a_run(f"c{number}", minute=number, parent=forked_from("p")), shown())
    store.create(a_run("other", minute=5), shown())
    assert store.get("p").children == ("c1", "c2")
    assert [run.id for run in store.list(RunFilter(parent="p")).runs] == ["c2", "c1"]
    store.write([store.get("p").model_copy(update={"children": ("made up",)})])
    assert store.get("p").children == ("c1", "c2")
    assert store.delete("p")
    assert store.get("c1").parent.run_id == "p"


def test_the_newest_of_a_row_of_runs(store: RunStore) -> None:
    for run_id in ("t", "t.turn2", "t.turn9", "t.turn10", "t.turn1", "t.turn011", "t.turn2x.turn100", "u"):
        store.create(a_run(run_id), shown())
    for newest, found in ((None, {"t", "t.turn2", "t.turn9", "t.turn10"}), (2, {"t.turn9", "t.turn10"})):
        assert {run.id for run in store.beginning("t", "t.turn", newest)} == found


def listed(
    store: RunStore, order: Order = "started_at", limit: int = 3, **wanted: object
) -> list[tuple[datetime, str]]:
    """When the runs that are found began, and their ids, over all pages."""
    where = RunFilter.model_validate(wanted)
    pages = [store.list(where, limit, None, order)]
    while before := pages[-1].next:
        pages.append(store.list(where, limit, before, order))
    runs = [(run.started_at, run.id) for page in pages for run in page.runs]
    assert {page.total for page in pages} == {len(runs)}
    assert all(len(page.runs) == limit for page in pages[:-1]) and (pages[-1].runs or not runs)
    return runs


def ids(store: RunStore, order: Order = "started_at", **wanted: object) -> list[str]:
    return [run_id for _, run_id in listed(store, order, **wanted)]


def test_filters(store: RunStore) -> None:
    store.create(a_run("a", workflow="v", stop_reason="replan"), shown())
    store.create(a_run("b", minute=1, stop_reason="seconds", status="failed"), shown())
    store.create(a_run("c", minute=2, status="running"), shown())

    assert ids(store) == ["c", "b", "a"]
    assert ids(store, workflow="w") == ["c", "b"]
    assert ids(store, status="failed") == ["b"]
    assert ids(store, stop_reason="any") == ["b", "a"]
    assert ids(store, stop_reason="replan") == ["a"]
    assert ids(store, workflow="w", stop_reason="replan") == []
    assert ids(store, workflow="\x00") == []


def test_runs_are_ordered_by_a_figure_and_found_by_date_duration_and_cost(store: RunStore) -> None:
    for number, (seconds, cost) in enumerate([(2.5, 0.1), (10.0, None), (None, 0.03), (2.5, 2.0)]):
        store.create(a_run("abcd"[number], minute=number, seconds=seconds, cost=cost), shown())

    assert ids(store, "seconds") == ["b", "d", "a", "c"], "the newer of equal ones first, the unknown last"
    assert ids(store, "cost") == ["d", "a", "c", "b"]
    assert ids(store, min_seconds=2.5) == ["d", "b", "a"]
    assert ids(store, "cost", min_cost=0.05, workflow="w") == ["d", "a"]
    second = a_run(minute=1).started_at
    assert ids(store, since=second) == ["d", "c", "b"]
    assert ids(store, until=second) == ["a"]


def test_tags_stay_whatever_the_run_writes_and_go_with_it(store: RunStore) -> None:
    for name in "abc":
        store.create(a_run(name, tags=("new",) if name == "c" else ()), shown())
    store.set_tags("a", ["später", "baseline"])
    store.set_tags("b", ["baseline", "baseline"])
    store.write([a_run("a", title="further on")])
    assert store.get("a").tags == ("baseline", "später")
    assert {run.id: run.tags for run in store.list(RunFilter(tag="baseline")).runs} == {
        "a": ("baseline", "später"), "b": ("baseline",),
    }  # fmt: skip
    assert store.list(RunFilter(tag="BASELINE")).total == 0
    store.set_tags("b", [])
    assert store.get("b").tags == ()
    assert store.tags() == ["baseline", "new", "später"]
    store.delete("a")
    assert store.tags() == ["new"]
    with pytest.raises(InputError, match="no run 'a'"):
        store.set_tags("a", ["baseline"])


def evaluation(version: str, minute: int, **fields: str) -> KeptEvaluation:
    answer = EvaluatedAnswer(
        id="q", input={"question": "Why\x00?"}, status="answered", answer="So.", scores={"em": None}, passes={"again": 1},
        model_calls=0, seconds=0.5,
    )  # fmt: skip
    at, figure = BEGIN + timedelta(minutes=minute), Figure(value=0.5, low=0, high=1, n=2)
    about = {"workflow": "w", "questions": "town", **fields}
    return KeptEvaluation(
        version=version, created_at=at, prompts={}, models={}, figures={"em": figure}, answers=(answer,), **about
    )


def test_evaluations_are_kept_by_set_and_version_newest_first(store: RunStore) -> None:
    first, second, other = evaluation("1", 0), evaluation("2", 1), evaluation("1", 2, questions="country")
    for each in (first, second, other, evaluation("1", 0, workflow="v")):
        store.keep_evaluation(each)
    assert store.evaluations("w") == [other, second, first]
    again = evaluation("1", 3)
    store.keep_evaluation(again)
    assert store.evaluations("w") == [again, other, second]
    assert store.delete_evaluation("w", "town", "1")
    assert not store.delete_evaluation("w", "town", "1")
    assert store.evaluations("w") == [other, second]


def test_text_is_found_in_title_input_and_answer(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.create(a_run("a", title="Über die Straße: Talk", answer="The ANSWER"), shown())
    store.create(a_run("b", minute=1, title="talks", input={"key": ["100% Réponse"]}), shown())
    store.create(a_run("c", minute=2, answer="a_b \\ it's"), shown())
    store.create(a_run("d", minute=3, title="ห้องประชุมน้ำตก"), shown())
    store.create(a_run("e", minute=4, answer="明日の会議はabc12です"), shown())
    store.create(a_run("f", minute=5, input={"year": 2024, "deep": {"yes": True, "none": None}}), shown())
    monkeypatch.setattr(tables, "searchable", None)  # a run that only goes on is not read for it once more
    store.write([store.get("d").model_copy(update={"outcome": None})])
    for text, found in (
        ("ÜBER", ["a"]),
        ("u\u0308ber", ["a"]),
        ("100%", ["b"]),
        ("%", ["b"]),
        ("\\", ["c"]),
        ("ประชุม", ["d"]),
        ("会議", ["e"]),
        ("ＡＢＣ１２", ["e"]),
        ("talk", ["b", "a"]),
        ("answer über", ["a"]),
        ("über RÉPONSE", []),
        ("2024", ["f"]),
        ("  ", ["f", "e", "d", "c", "b", "a"]),
        ("\x00", []),
        ("\ud800", []),
    ):
        assert [run.id for run in store.list(RunFilter(text=text)).runs] == found, text


# A file takes many times as long to be emptied again and again, and its statements are those of memory.
@pytest.mark.parametrize(
    "open_history", ["memory", "postgres", pytest.param("sqlite", marks=pytest.mark.slow)], indirect=True
)
@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    minutes=st.lists(st.tuples(st.integers(-(10**7), 10**7) | st.integers(0, 2), st.text(max_size=3)), max_size=12),
    limit=st.integers(1, 5),
)
def test_pages_give_every_run_once(store: RunStore, minutes: list[tuple[int, str]], limit: int) -> None:
    for run in store.list(RunFilter(), 1000).runs:
        store.delete(run.id)
    runs = [a_run(f"{number}{text}", minute=minute) for number, (minute, text) in enumerate(minutes)]
    for run in runs:
        store.create(run, shown())
    seen = listed(store, limit=limit)
    assert sorted(seen) == sorted((run.started_at, run.id) for run in runs)
    assert [at for at, _ in seen] == sorted((at for at, _ in seen), reverse=True)


def test_a_place_that_no_page_gave_is_refused(store: RunStore) -> None:
    for name in "ab":
        store.create(a_run(name), shown())
    by_cost = store.list(RunFilter(), 1, order="cost").next
    for before in ("", "x", "!!", "é", "MTIz", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OSBh", "a" * 5000, "\x00", by_cost):
        with pytest.raises(InputError, match="no place in a list of runs"):
            store.list(RunFilter(), before=before)


def test_forgetting_a_run_takes_its_events(store: RunStore) -> None:
    for name in "abc":
        store.create(a_run(name), shown())
        store.write(events=[news(name, range(1, 6)), news(name, [1], "client")])
    assert store.delete("a")
    assert not store.delete("a")
    assert (store.get("a"), store.graph("a"), store.events("a")) == (None, None, [])
    assert [store.count(name, channel) for name in "bc" for channel in ("run", "client")] == [5, 1] * 2
    store.create(a_run("a"), shown())
    assert store.count("a") == 0


def test_only_a_run_that_has_ended_is_forgotten_and_all_of_it_or_nothing(store: RunStore) -> None:
    for name, status in (("a", "finished"), ("b", "running"), ("c", "queued"), ("d", "queued")):
        store.create(a_run(name, status=status), shown())
    assert store.under_way() == {("w", "running"): 1, ("w", "queued"): 2}
    gone: list[str] = []
    assert not store.delete("b", gone.append)
    with pytest.raises(ZeroDivisionError):
        store.delete("a", lambda _run: 1 // 0)
    assert store.get("a") and store.delete("a", gone.append)
    assert gone == ["a"]


def pruned(store: RunStore, **how: Any) -> list[str]:
    return [run_id for run_id in store.outdated(**how) if store.delete(run_id)]


@pytest.mark.parametrize("open_history", ["postgres"], indirect=True)
def test_what_goes_with_a_run_may_take_longer_than_a_process_may_stand_still(open_history: Open, monkeypatch) -> None:
    monkeypatch.setattr(opening, "STANDSTILL", 100)
    with closing(open_history()) as store:
        store.create(a_run(), shown())
        assert store.delete("r1", lambda _run: time.sleep(0.5))


def test_pruning_by_age(store: RunStore) -> None:
    for minute in range(4):
        store.create(a_run(f"r{minute}", minute=minute), shown())
    store.create(a_run("running", minute=-1, status="running"), shown())
    store.create(a_run("waiting", minute=-1, status="waiting"), shown())
    assert pruned(store) == []
    assert pruned(store, older_than=BEGIN + timedelta(minutes=2)) == ["waiting", "r0", "r1"]
    assert [run.id for run in store.list(RunFilter()).runs] == ["r3", "r2", "running"]
    assert pruned(store, older_than=datetime(2026, 3, 1, 12, 2, 1)) == ["r2"]  # UTC, though it does not say so


def test_pruning_keeps_the_newest_of_each_workflow(store: RunStore) -> None:
    for number in range(8):
        store.create(a_run(f"r{number}", minute=number, workflow="vw"[number % 2]), shown())
    store.create(a_run("running", minute=20, status="running"), shown())
    assert pruned(store, keep=2) == ["r0", "r1", "r2", "r3"]
    assert pruned(store, keep=2) == []
    assert pruned(store, older_than=BEGIN + timedelta(minutes=5), keep=1) == ["r4", "r5"]
    assert [run.id for run in store.list(RunFilter()).runs] == ["running", "r7", "r6"]


# Nobody else can reach that in memory, and any number may have one in PostgreSQL.
@pytest.mark.parametrize("open_history", ["sqlite"], indirect=True)
def test_one_server_has_a_history_at_a_time(open_history: Open) -> None:
    first, second = open_history(), open_history()
    first.claim()
    first.claim()
    with pytest.raises(StoreError, match="in use by another server") as refused:
        second.claim()
    assert not refused.value.transient
    second.create(a_run("r"), shown())
    assert first.get("r") is not None, "others may still read and write"
    first.close()
    second.claim()
    second.close()


def test_nothing_of_an_earlier_attempt_is_kept_and_nothing_else_of_its_transaction(store: RunStore) -> None:
    for name in "ab":
        store.create(a_run(name, status="running"), shown())
        store.write([], [news(name, [1])])
    store.begin(a_run("a", status="running", epoch=1))
    store.write([a_run("a", title="second", epoch=1)], [news("a", [2], epoch=1)])
    late = [
        ([a_run("a", title="late")], []),
        ([], [news("a", [2, 3])]),
        ([a_run("b", title="with it"), a_run("a", title="late")], [news("b", [2])]),
        ([], [news("b", [2]), news("a", [3], "client")]),
    ]
    for runs, events in late:
        with pytest.raises(AttemptLost, match="run 'a' was given up here: this was attempt 1, and attempt 2") as lost:
            store.write(runs, events)
        assert (lost.value.run, lost.value.transient) == ("a", False)
    assert (store.get("a").title, store.get("a").epoch, store.get("b").title) == ("second", 1, "")
    assert [event.seq for event in store.events("a")] == [1, 2]
    assert (store.count("b"), store.count("a", "client")) == (1, 0)
    store.write([a_run("b", title="alone")], [news("b", [2])])
    assert (store.get("b").title, store.count("b")) == ("alone", 2)


def test_only_one_of_many_begins_the_next_attempt(store: RunStore, open_history: Open) -> None:
    store.create(a_run("a", status="interrupted"), shown())
    others = [] if store._database.name.endswith("in memory") else [open_history() for _ in range(4)]
    stores = [store, *others] if others else [store] * 5
    ready = threading.Barrier(len(stores))

    def begins(number: int) -> bool:
        ready.wait()
        try:
            stores[number].begin(a_run("a", status="running", title=str(number), epoch=1))
        except AttemptLost:
            return False
        return True

    with ThreadPoolExecutor(len(stores)) as threads:
        won = [*threads.map(begins, range(len(stores)))]
    for other in others:
        other.close()
    assert won.count(True) == 1 and len(won) == 5
    assert (store.get("a").title, store.get("a").epoch) == (str(won.index(True)), 1)


def test_what_is_written_while_another_attempt_begins_is_kept_before_it_or_not_at_all(store: RunStore) -> None:
    store.create(a_run("a", status="running"), shown())
    kept_numbers: list[int] = []
    lost = threading.Event()

    def write() -> None:
        for number in range(1, 10_000):
            try:
                store.write([], [news("a", [number])])
            except AttemptLost:
                lost.set()
                return
            kept_numbers.append(number)

    writing = threading.Thread(target=write)
    writing.start()
    while len(kept_numbers) < 5:
        lost.wait(0.001)
    store.begin(a_run("a", status="running", epoch=1))
    count = store.count("a")
    writing.join()
    assert lost.is_set()
    assert store.count("a") == count == len(kept_numbers)


def version(number: int, prompt: str = "p", workflow: str = "w") -> PromptVersion:
    return PromptVersion(
        workflow=workflow, prompt=prompt, version=number, text=f"Text {number} {{{{x}}}}", author="Ada", note="why",
        created_at=datetime(2026, 1, number, tzinfo=UTC), digest=f"{number:012x}",
    )  # fmt: skip


def test_versions_of_prompts(store: RunStore) -> None:
    for item in (version(2), version(10), version(1, "a"), version(3), version(1, "p", "v")):
        store.keep_prompt(item)
    assert list(store.prompt_versions("w")) == [version(1, "a"), version(2), version(3), version(10)]
    assert list(store.prompt_versions("w", "p")) == [version(2), version(3), version(10)]
    assert store.prompt_versions("w", "none") == [] == store.prompt_versions("x")
    with pytest.raises(InputError, match="version 3 of the prompt 'p' of 'w' exists"):
        store.keep_prompt(version(3).model_copy(update={"text": "mine"}))
    assert list(store.prompt_versions("w", "p"))[1] == version(3)


def test_models_that_people_chose(store: RunStore) -> None:
    store.assign("w", "plan", "openai:a")
    store.assign("w", "default", None)
    store.assign("v", "plan", "openai:b")
    assert store.assignments("w") == {"default": None, "plan": "openai:a"}
    store.assign("w", "plan", None)
    store.assign("w", "default", "openai:c")
    assert store.assignments("w") == {"default": "openai:c", "plan": None}
    store.assign("w", "plan", "ignored", clear=True)
    store.assign("w", "unknown", None, clear=True)
    assert store.assignments("w") == {"default": "openai:c"}
    assert store.assignments("v") == {"plan": "openai:b"}
    assert store.assignments("none") == {}


@pytest.mark.parametrize("open_history", ["sqlite", "postgres"], indirect=True)
def test_one_history_is_made_when_many_open_it_at_once(open_history: Open) -> None:
    start = threading.Barrier(6)

    def work(number: int) -> None:
        start.wait()
        store = open_history()
        store.create(a_run(f"r{number}"), shown())
        store.close()

    with ThreadPoolExecutor(6) as threads:
        assert [*threads.map(work, range(6))] == [None] * 6
    store = open_history()
    assert store.list(RunFilter()).total == 6
    store.close()
