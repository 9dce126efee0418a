"""The recorded runs that ship with the package: readable, up to date, and given to a history once."""

from __future__ import annotations

import gzip
import re
from contextlib import closing

import pytest
from run_records import keep, path_events, run_record, small_graph

from loopwright.engine.events.schema import NodeStarted, run_event
from loopwright.engine.gate import is_engine_node
from loopwright.runs.compare import compare
from loopwright.runs.demonstrations import demo_files, ensure_demos, keep_recorded, read_demo, recorded_run
from loopwright.runs.schemas import RunFilter
from loopwright.runs.states import checkpoints, state_at
from loopwright.runs.store import KeptEvent, open_runs

FILES = {read_demo(file.read_bytes()).record.id: file.read_bytes() for file in demo_files()}


@pytest.fixture
def store(tmp_path):
    opened = open_runs(f"sqlite:{tmp_path / 'runs.db'}")
    yield opened
    opened.close()


def todays_workflow(name):
    if name == "assistant":
        from loopwright.workflows.assistant.config import AssistantConfig
        from loopwright.workflows.assistant.services import Services as AssistantServices
        from loopwright.workflows.assistant.sources.sample import sample_store
        from loopwright.workflows.assistant.workflow import AssistantWorkflow

        return AssistantWorkflow(AssistantServices.of(AssistantConfig(), sample_store()))
    if name == "rag":
        from loopwright.workflows.rag.workflow import RagWorkflow

        return RagWorkflow.sample()
    from loopwright.workflows.iqa.services import Services as IqaServices
    from loopwright.workflows.iqa.workflow import IQAWorkflow

    return IQAWorkflow(IqaServices())


def events_of(run_id):
    return [run_event.validate_json(event.data) for event in read_demo(FILES[run_id]).events]


@pytest.mark.parametrize("run_id", FILES)
def test_a_demonstration_is_small_and_names_no_machine(run_id):
    assert len(FILES[run_id]) < 60_000
    text = gzip.decompress(FILES[run_id]).decode()
    assert not re.search(r"(?<![\w/.:])/(home|root|tmp|work|usr|var|Users)/|[A-Z]:\\\\", text)
    assert "loopwright/src" not in text and "site-packages" not in text


@pytest.mark.parametrize("run_id", FILES)
def test_a_demonstration_tells_a_whole_run(run_id):
    file = read_demo(FILES[run_id])
    events = events_of(run_id)
    assert file.record.status == "finished" and file.record.outcome.answer
    assert file.record.events == len(events) and events[-1].type == "run_finished"
    ran = [event.node for event in events if isinstance(event, NodeStarted) and not is_engine_node(event.node)]
    assert list(file.record.path) == ran


@pytest.mark.parametrize("workflow", ["assistant", "rag", "iqa"])
def test_demonstrations_match_todays_graphs(workflow):
    hosted = todays_workflow(workflow)
    today = hosted.shown()
    hosted.close()
    recorded = [read_demo(data) for data in FILES.values() if read_demo(data).record.workflow == workflow]
    assert len(recorded) > 1
    for file in recorded:
        # Of `rag`, hops are wired only where a chat model chooses them.
        nodes = [node.name for node in file.graph.nodes]
        assert [name for name in nodes if name != "next_hop"] == [node.name for node in today.nodes]
        assert [loop.name for loop in file.graph.loops if loop.name != "hops"] == [loop.name for loop in today.loops]
        assert set(file.record.path) <= {*nodes}
        assert set(file.record.input) <= set(hosted.input_schema["properties"])


@pytest.mark.parametrize(
    ("run_id", "helped"),
    [
        ("demo-assistant-thought-over-twice", True),
        ("demo-rag-not-in-the-documents", False),
        ("demo-iqa-planned-anew", None),
    ],
)
def test_each_counterfactual_tells_whether_its_loop_helped(store, run_id, helped):
    ensure_demos(store)
    sides = []
    for each in (run_id, f"{run_id}-without"):
        state = state_at(store, each, checkpoints(store, each)[-1].checkpoint_id)
        sides += [store.get(each), events_of(each), state]
    comparison = compare(*sides)
    assert comparison.loop_effect.helped is helped
    assert comparison.shared > 0 and not comparison.notes
    assert store.get(run_id).children == (f"{run_id}-without",)


def test_a_history_is_given_them_once(store):
    for _ in range(2):
        ensure_demos(store)
    page = store.list(RunFilter())
    assert page.total == len(FILES)
    assert {run.source for run in page.runs} == {"demo"}


def test_a_deleted_demonstration_stays_deleted(store):
    ensure_demos(store)
    for run_id in FILES:
        store.delete(run_id)
    ensure_demos(store)
    assert store.list(RunFilter()).total == 0


def test_a_kept_run_is_recorded_whole(store, tmp_path):
    client = [KeptEvent(1, "done", '{"event":"done"}')]
    keep(store, run_record("run-1", quality=0.5, tags=("a",)), path_events(["write", "check"]), client)
    run = recorded_run(store, "run-1")
    with closing(open_runs(f"sqlite:{tmp_path / 'other.db'}")) as other:
        keep_recorded(other, run)
        assert other.get("run-1") == store.get("run-1").model_copy(update={"source": "demo"})
        assert recorded_run(other, "run-1").graph == small_graph()
        assert (other.events("run-1"), other.events("run-1", "client")) == (store.events("run-1"), client)
