"""One test for every scenario of ``langgraph-setup.md``; the first line of a docstring is the scenario's title."""

import json
import logging
import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import get_type_hints

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START
from shapes import edges_of
from shapes import graph as made_of
from stages import START as INPUT
from stages import Stages, configured

import loopwright.workflows.iqa.graph as pipeline
from loopwright import bounded, verify
from loopwright.errors import ConfigError, GraphError, LoopDeclarationError, NodeFailed, NodeTimeout
from loopwright.workflows.iqa import (
    AgenticIQAState,
    IQAConfig,
    PlannerOutput,
    build_graph,
    planner_node,
    run_pipeline,
    visualize_graph,
)
from loopwright.workflows.iqa.graph import replan_loop

DOCUMENT = "langgraph-setup.md"


def test_graph_creation_with_typed_state():
    """Graph creation with typed state"""
    graph = build_graph()
    assert graph.builder.state_schema is AgenticIQAState
    assert set(get_type_hints(AgenticIQAState)) <= set(graph.builder.channels)
    edges = "START-planner planner-summarizer summarizer?planner summarizer?END"
    wrong = made_of(edges, AgenticIQAState)
    with pytest.raises(LoopDeclarationError, match=r"iteration_cuont.*Did you mean 'iteration_count'"):
        bounded(wrong, [replace(replan_loop(IQAConfig()), counter="iteration_cuont")])


def test_graph_naming_and_metadata():
    """Graph naming and metadata"""
    assert build_graph().name == "AgenticIQA-Pipeline"
    assert build_graph().topology().name == "AgenticIQA-Pipeline"
    kept = build_graph().config["metadata"]
    assert kept["version"] == version("loopwright")
    assert abs(datetime.now(UTC) - datetime.fromisoformat(kept["created"])) < timedelta(minutes=5)


def test_planner_node_addition():
    """Planner node addition"""
    assert [node for node in build_graph(stages=("planner",)).builder.nodes if "planner" in node][-1] == "planner"
    assert build_graph().topology().nodes.count("planner") == 1


def test_planner_node_function_signature():
    """Planner node function signature"""
    hints = get_type_hints(planner_node)
    assert hints["state"] is AgenticIQAState
    assert str(hints["return"]).startswith("dict[str")


def test_planner_node_execution(photograph):
    """Planner node execution"""
    update = planner_node(
        {"query": "Is the cup blurry?", "image_path": str(photograph), "reference_path": str(photograph)}
    )
    assert isinstance(update["plan"], PlannerOutput)
    assert update["plan"].reference_mode == "Full-Reference"
    assert update["error"] is None
    failed = build_graph(configured(langgraph__graceful_errors=True)).invoke(
        {"query": " ", "image_path": str(photograph)}
    )
    assert failed["error"].startswith("planner: PlannerError")


def test_entry_point_definition():
    """Entry point definition"""
    first = [edge.target for edge in build_graph().topology().edges if edge.source == START]
    assert [node for node in first if not node.startswith("loop.")] == ["planner"]


def test_exit_point_definition(photograph):
    """Exit point definition (Phase 2 simple termination)"""
    graph = build_graph(stages=("planner",))
    final = graph.invoke({"query": "Is it blurry?", "image_path": str(photograph)})
    assert isinstance(final["plan"], PlannerOutput)
    assert final.get("executor_evidence") is None
    assert ("planner", END) in edges_of(graph)


def test_conditional_edges_placeholder():
    """Conditional edges placeholder

    Superseded by replanning-logic.md: the conditional edge itself is there.
    """
    kinds = {edge.kind for edge in build_graph().topology().edges if edge.source == "summarizer"}
    assert {"conditional", "request"} <= kinds


def test_graph_compilation():
    """Graph compilation"""
    assert build_graph().certificate.bounded, "cycles are allowed where they are bounded"
    with pytest.raises(GraphError, match="island"):
        bounded(made_of("START-planner island-END", AgenticIQAState))
    runaway = made_of("START-planner planner?planner planner?END", AgenticIQAState)
    assert verify(runaway).unbounded_cycles == (("planner",),)
    with pytest.raises(GraphError, match="planner -> planner"):
        bounded(runaway)


def test_graph_invocation(photograph):
    """Graph invocation"""
    final = build_graph().invoke({"query": "Rate the quality.", "image_path": str(photograph)})
    assert {"plan", "executor_evidence", "summarizer_result"} <= set(final)
    with pytest.raises(NodeFailed):
        build_graph().invoke({"query": "Rate the quality.", "image_path": "there/is/no/such.png"})


def test_streaming_execution(photograph):
    """Streaming execution"""
    graph = build_graph()
    question = {"query": "Rate the quality.", "image_path": str(photograph)}
    chunks = [node for chunk in graph.stream(question, stream_mode="updates") for node in chunk]
    assert [node for node in chunks if not node.startswith("loop.")] == ["planner", "executor", "summarizer"]
    stages = Stages()
    for chunk in stages.graph().stream(INPUT, stream_mode="updates"):
        if "executor" in chunk:
            break
    assert stages.order == ["planner", "executor"], "a reader who stops early stops the run"


def test_checkpointer_configuration():
    """Checkpointer configuration"""
    stages = Stages(asks=0, executor_fails_at=1)
    graph = stages.graph(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "sample"}}
    with pytest.raises(NodeFailed):
        graph.invoke(INPUT, thread, durability="sync")
    assert graph.get_state(thread).next == ("executor",)
    assert graph.get_state(thread).values["plan"].query_scope == ["scope 1"]
    final = graph.invoke(None, thread)
    assert stages.order == ["planner", "executor", "executor", "summarizer"]
    assert final["summarizer_result"].final_answer == "answer 1"


def test_checkpoint_storage_location(tmp_path, photograph):
    """Checkpoint storage location"""
    file = tmp_path / "pipeline.yaml"
    file.write_text(f"pipeline: {{checkpoint: {{enable: true, save_dir: {tmp_path / 'kept'}}}}}")
    began = datetime.now(UTC)
    run_pipeline("Rate the quality.", photograph, config=IQAConfig.load(file), sample_id="cup 1/2")
    (kept,) = (tmp_path / "kept").iterdir()
    stamp, name = re.fullmatch(r"(\d{8}T\d{6}\.\d{6}Z)_(cup.*)\.json", kept.name).groups()
    assert datetime.strptime(stamp, "%Y%m%dT%H%M%S.%f%z") >= began
    assert "/" not in name
    assert json.loads(kept.read_text())["thread_id"] == "cup 1/2"


def test_resume_from_checkpoint(tmp_path, photograph, monkeypatch):
    """Resume from checkpoint"""
    began: list[str] = []

    def noted(stage, node):
        def work(state, services=None):
            began.append(stage)
            if began == ["planner", "executor"]:
                raise ValueError("it broke")
            return node(state, services)

        return work

    for stage, node in [*pipeline.NODES.items()]:
        monkeypatch.setitem(pipeline.NODES, stage, noted(stage, node))
    config = IQAConfig.load(overrides={"pipeline.checkpoint": {"enable": True, "save_dir": str(tmp_path / "kept")}})
    asked = {"query": "Rate the quality.", "image_path": photograph, "config": config, "sample_id": "cup"}
    with pytest.raises(NodeFailed, match="it broke"):
        run_pipeline(**asked)
    final = run_pipeline(**asked, resume=True)
    assert began == ["planner", "executor", "executor", "summarizer"], "the planner ran once"
    assert final["summarizer_result"].final_answer in ("Bad", "Poor", "Fair", "Good", "Excellent")
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_graph_structure_visualization(tmp_path):
    """Graph structure visualization"""
    text = visualize_graph(build_graph(stages=("planner",)), folder=tmp_path / "logs")
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "graph TD"
    assert "START([START]) --> planner[Planner]" in lines
    assert "planner --> END([END])" in lines
    assert (tmp_path / "logs" / "graph_structure.mmd").read_text() == text
    build_graph(configured(langgraph__save_graph_visualization=True, langgraph__log_dir=tmp_path / "saved"))
    assert (tmp_path / "saved" / "graph_structure.mmd").read_text() == visualize_graph()


def test_debug_mode_execution(tmp_path):
    """Debug mode execution"""
    config = configured(langgraph__debug_mode=True, langgraph__log_dir=tmp_path)
    try:
        Stages(asks=1, executor_fails_at=2).graph(config).invoke(INPUT)
        log = (tmp_path / "graph_debug.log").read_text()
    finally:
        root = logging.getLogger("loopwright")
        for handler in list(root.handlers):
            root.removeHandler(handler)
            handler.close()
        root.setLevel(logging.NOTSET)
    assert re.search(r"node planner: input .*query='Is it sharp\?'", log)
    assert re.search(r"node planner: finished in \d+\.\d+ s, update .*scope 1", log)
    assert re.search(r"node executor: failed after \d", log)
    assert "ValueError: the executor broke" in log
    assert "Replanning triggered" in log


def test_node_exception_handling():
    """Node exception handling"""
    with pytest.raises(NodeFailed) as caught:
        Stages(executor_fails_at=1).graph().invoke(INPUT)
    assert caught.value.node == "executor"
    assert "node 'executor'" in str(caught.value)
    assert "query='Is it sharp?'" in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("go_on", [True, False])
def test_graceful_error_handling_mode(go_on, caplog):
    """Graceful error handling mode"""
    config = configured(langgraph__graceful_errors=True, langgraph__continue_after_error=go_on)
    stages = Stages(asks=0, executor_fails_at=1)
    final = stages.graph(config).invoke(INPUT)
    assert final["error"] == "executor: ValueError: the executor broke (attempt 1)"
    assert stages.order == ["planner", "executor", *(["summarizer"] if go_on else [])]
    assert final["executor_evidence"].error == final["error"]
    record = next(record for record in caplog.records if record.levelno == logging.ERROR)
    assert "the executor broke" in caplog.handler.format(record)
    assert "Traceback" in caplog.handler.format(record)


def test_a_summarizer_that_fails_is_captured_too():
    """Graceful error handling mode"""

    def broken(state):
        raise ValueError("the summarizer broke")

    config = configured(langgraph__graceful_errors=True)
    final = build_graph(config, nodes={**Stages().nodes, "summarizer": broken}).invoke(INPUT)
    assert final["error"] == "summarizer: ValueError: the summarizer broke (attempt 1)"
    assert final["executor_evidence"].notes == ["evidence 1"], "what there was is kept"


def test_retry_logic_integration(caplog):
    """Retry logic integration"""
    attempts: list[float] = []

    def limited(state):
        attempts.append(time.monotonic())
        raise ConnectionError("rate limit")

    # Up to a second of jitter is added to each wait: only a factor above twenty tells growing waits from constant ones.
    retry = {"initial_wait": 0.05, "factor": 30.0, "max_wait": 9}
    config = configured(pipeline__max_retry_attempts=2, **{f"pipeline__retry__{key}": retry[key] for key in retry})
    with pytest.raises(NodeFailed, match=r"attempt 3.*rate limit"):
        build_graph(config, nodes={"planner": limited}).invoke(INPUT)
    assert len(attempts) == 3, "two retries are three attempts"
    first, second = attempts[1] - attempts[0], attempts[2] - attempts[1]
    assert 0.05 <= first < 1.5
    assert second >= 1.5
    logged = [record.getMessage() for record in caplog.records if "next attempt" in record.getMessage()]
    assert len(logged) == 2
    assert "attempt 1 of 3" in logged[0]
    assert "attempt 2 of 3" in logged[1]


def test_graph_settings_from_yaml(tmp_path, caplog):
    """Graph settings from YAML"""
    file = tmp_path / "pipeline.yaml"
    file.write_text(f"""
langgraph:
  max_iterations: 1
  recursion_limit: 7
  debug_mode: false
  save_graph_visualization: true
  log_dir: {tmp_path}
""")
    config = IQAConfig.load(file, environment={})
    stages = Stages()
    graph = stages.graph(config)
    final = graph.invoke({**INPUT, "max_replan_iterations": 5})
    assert (tmp_path / "graph_structure.mmd").exists()
    assert final["stop_reason"]["loop"] == "recursion_limit", (
        "seven steps do not suffice for two rounds and their gates"
    )
    assert graph.certificate.max_supersteps == 8, "max_iterations is the ceiling: one replan at most"
    with pytest.raises(ConfigError, match=r"langgraph\.max_iteration'.*Did you mean 'langgraph\.max_iterations'"):
        IQAConfig.load(overrides={"langgraph.max_iteration": 3})


@pytest.mark.parametrize("stage", ["planner", "executor", "summarizer"])
def test_per_node_timeout_configuration(stage):
    """Per-node timeout configuration"""
    shipped = IQAConfig.load(environment={}).pipeline.timeout
    assert (shipped.planner, shipped.executor, shipped.summarizer) == (60, 300, 60)
    stages = Stages(asks=0)
    config = configured(**{f"pipeline__timeout__{stage}": 0.1})
    began = time.monotonic()
    with pytest.raises(TimeoutError) as caught:
        build_graph(config, nodes={**stages.nodes, stage: lambda state: time.sleep(3)}).invoke(INPUT)
    assert isinstance(caught.value, NodeTimeout)
    assert caught.value.node == stage
    assert time.monotonic() - began < 2, "the caller does not wait for the node's full time"
