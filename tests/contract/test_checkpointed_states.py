"""The models of our own states come back from every saver as what they were, and without a warning."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.event_hooks import register_serde_event_listener
from shapes import graph

from loopwright.checkpoints import open_checkpointer
from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.schemas import (
    DistortionFinding,
    ExecutorOutput,
    PlannerOutput,
    QueryType,
    SummarizerOutput,
    ToolLog,
)
from loopwright.workflows.iqa.state import AgenticIQAState

SPECS = {"memory": "memory", "json": "json:{}/runs", "sqlite": "sqlite:{}/runs.db"}
CONFIG: Any = {"configurable": {"thread_id": "s1"}}


def iqa_state() -> dict[str, Any]:
    finding = DistortionFinding(
        type="Blur", severity=Severity.SLIGHT, confidence=0.5, explanation="sharpness 3.2", measured={"sharpness": 3.2}
    )
    return {
        "query": "Is it sharp?",
        "image_path": "a.png",
        "plan": PlannerOutput(query_type=QueryType.IQA, required_tools=["niqe"]),
        "executor_evidence": ExecutorOutput(
            distortion_analysis={"Global": [finding]}, tool_logs=[ToolLog(tool="niqe", raw=3.5, score=2.0)]
        ),
        "summarizer_result": SummarizerOutput(final_answer="B", quality_reasoning="score 2.0"),
    }


@pytest.fixture
def refused() -> Iterator[list[Any]]:
    """Each class that LangGraph found on no allowlist; its log names each class only once in a process."""
    events: list[Any] = []
    stop = register_serde_event_listener(events.append)
    yield events
    stop()


@pytest.mark.parametrize("kind", ["memory", "json", "sqlite"])
def test_states_with_models_come_back_whole_and_without_warnings(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, refused: list[Any]
) -> None:
    made = iqa_state()
    found = {key: made[key] for key in made if key not in ("query", "image_path")}
    builder = graph("START-all", AgenticIQAState, all=lambda _state: found)
    with caplog.at_level(logging.WARNING):
        with open_checkpointer(SPECS[kind].format(tmp_path), allow=[AgenticIQAState]) as saver:
            builder.compile(checkpointer=saver).invoke(
                {"query": made["query"], "image_path": made["image_path"]}, CONFIG
            )
        with open_checkpointer(SPECS[kind].format(tmp_path), allow=[AgenticIQAState]) as other:
            found = (saver if kind == "memory" else other).get_tuple(CONFIG)
    assert found is not None
    back = {key: value for key, value in found.checkpoint["channel_values"].items() if key in made}
    assert back == made
    assert type(back["executor_evidence"].distortion_analysis["Global"][0].severity) is Severity
    assert (caplog.records, refused) == ([], [])


@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_a_class_that_is_not_allowed_is_never_built(kind: str, tmp_path: Path, refused: list[Any]) -> None:
    builder = graph("START-all", AgenticIQAState, all=lambda _state: {"plan": PlannerOutput()})
    with open_checkpointer(SPECS[kind].format(tmp_path)) as saver:
        builder.compile(checkpointer=saver).invoke({"query": "q", "image_path": "p"}, CONFIG)
    with open_checkpointer(SPECS[kind].format(tmp_path), allow=[]) as saver:
        found = saver.get_tuple(CONFIG)
    assert found is not None
    assert type(found.checkpoint["channel_values"]["plan"]) is dict
    assert {(event["kind"], event["name"]) for event in refused} >= {("msgpack_blocked", "PlannerOutput")}
