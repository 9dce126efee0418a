"""The image-quality workflow as a host runs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic_core import to_jsonable_python

from loopwright.engine import BoundedGraph, RunEvent, RunResult
from loopwright.engine.events import LoopDecided, NodeStarted, Told
from loopwright.errors import InputError, unknown_name_message
from loopwright.workflows.graphs import HostedGraphs
from loopwright.workflows.hosting import ClientEvent, HostedRun, Outcome
from loopwright.workflows.iqa.answering.choices import UNABLE
from loopwright.workflows.iqa.form import EXAMPLES, LONGEST_QUERY, NODE_INFO, PROGRESS, SCHEMA
from loopwright.workflows.iqa.graph import build_graph
from loopwright.workflows.iqa.pipeline import initial_state
from loopwright.workflows.iqa.prompting import prompts
from loopwright.workflows.iqa.sample import FILES, PREFIX, sample_path
from loopwright.workflows.iqa.schemas import ExecutorOutput, SummarizerOutput
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.state import AgenticIQAState
from loopwright.workflows.sections import MODEL_NODES


class IqaHosted(HostedGraphs):
    """Questions about the quality of a picture."""

    name = "iqa"
    title = "Image quality"
    description = (
        "Answers questions about the technical quality of a picture from measurements: which distortions, how strong, "
        "what score. Where the evidence does not suffice it plans anew, a few times at most."
    )
    input_schema = SCHEMA
    nodes = NODE_INFO
    model_nodes = MODEL_NODES["iqa"]
    state_schema = AgenticIQAState
    places = frozenset({"image_path", "reference_path"})
    allow = (AgenticIQAState,)
    examples = EXAMPLES

    def __init__(self, services: Services) -> None:
        """Prepare.

        Args:
            services: The configuration and the models.
        """
        self.services = services
        """The configuration and the models."""
        super().__init__(services.models, prompts())

    def build(self, saver: BaseCheckpointSaver[str] | None) -> BoundedGraph:
        """Make the graph; see `HostedGraphs.build`.

        Args:
            saver: Where its runs are kept.
        """
        return build_graph(services=self.services, checkpointer=saver)

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> HostedRun:
        """Prepare a run.

        Args:
            given: The question, and the pictures: the id of an upload, or ``sample:NAME`` for one of the samples.
            uploads: Id of an uploaded file -> where it lies.
            run_id: Names the run.

        Raises:
            InputError: If the question is empty, a picture is neither, or there is what nobody knows.
        """
        for key in given:
            if key not in SCHEMA["properties"]:
                raise InputError(unknown_name_message("key of the input", key, SCHEMA["properties"]))
        query: Any = given.get("query")
        if not isinstance(query, str) or not query.strip():
            raise InputError(f"the query is {query!r}: give a text that asks something")
        if len(query) > LONGEST_QUERY:
            raise InputError(f"the query has {len(query)} characters; at most {LONGEST_QUERY} are read")
        image = _picture(given.get("image"), "image", uploads)
        reference = _picture(given["reference"], "reference", uploads) if given.get("reference") else None
        graph_input = initial_state(
            self.services.config,
            query.strip(),
            image,
            {
                "reference_path": reference,
                "region": given.get("region") or None,
                "max_replan_iterations": given.get("max_replan_iterations"),
            },
        )
        graph_input["sample_id"] = run_id
        return _IqaRun(given, graph_input, query, [image, *filter(None, [reference])])


class _IqaRun(HostedRun):
    """One question about one picture."""

    def __init__(self, given: Mapping[str, Any], graph_input: Any, title: str, pictures: Sequence[Path]) -> None:
        super().__init__(given, graph_input, title)
        self._pictures = pictures

    def told(self, event: RunEvent) -> Iterable[Told]:
        """What is being done, and why it is planned anew.

        Args:
            event: The engine's event.
        """
        if isinstance(event, NodeStarted) and event.node in PROGRESS:
            yield Told(kind="progress", node=event.node, message=PROGRESS[event.node])
        elif isinstance(event, LoopDecided) and event.decision == "granted":
            reason = self.plain("reason", event.reason).rstrip(".")
            yield Told(
                kind="thinking",
                node="planner",
                message=f"That does not suffice yet. {reason}. Let me plan anew.",
                data={"reason": reason, "iteration": event.spent, "limit": event.limit},
            )

    def plain(self, key: str, value: Any) -> Any:
        """A value of the state in plain JSON, pictures by the names of their files.

        Args:
            key: Its key.
            value: The value.
        """
        return self._without_folders(to_jsonable_python(value, fallback=str))

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        """The answer with its reasons, and the tools' scores.

        Args:
            result: The final state.
        """
        state = result.state
        answered: SummarizerOutput | None = state.get("summarizer_result")
        evidence: ExecutorOutput = state.get("executor_evidence") or ExecutorOutput()
        score = answered.quality_score if answered else None
        details = {
            key: state.get(key)
            for key in (
                "plan",
                "summarizer_result",
                "executor_evidence",
                "iteration_count",
                "replan_history",
                "stop_reason",
            )
        }
        outcome = Outcome(
            answer=f"**{answered.final_answer}**\n\n{answered.quality_reasoning}" if answered else "",
            status=_status(state, answered),
            # How good the picture is says nothing of how good the answer is, which nobody measures here.
            scores={**({} if score is None else {"quality_score": score}), **evidence.quality_scores},
            details=to_jsonable_python(details, fallback=str),
            error=state.get("error"),
        )
        return Outcome.model_validate(self._without_folders(outcome.model_dump(mode="json"))), ()

    def _without_folders(self, value: Any) -> Any:
        """Plain JSON in which nothing says where the pictures lie."""
        if isinstance(value, str):
            for picture in self._pictures:
                value = value.replace(str(picture), picture.name)
            return value
        if isinstance(value, dict):
            return {key: self._without_folders(inner) for key, inner in cast("dict[str, Any]", value).items()}
        return (
            [self._without_folders(inner) for inner in cast("list[Any]", value)] if isinstance(value, list) else value
        )


def _picture(given: Any, key: str, uploads: Mapping[str, Path]) -> Path:
    if isinstance(given, str) and given.startswith(PREFIX):
        return sample_path(given.removeprefix(PREFIX))
    if not isinstance(given, str) or given not in uploads:
        samples = ", ".join(f"{PREFIX}{name}" for name in FILES)
        raise InputError(f"{key} is {given!r}: give the id of an uploaded picture, or one of {samples}")
    return uploads[given]


def _status(state: Mapping[str, Any], answered: SummarizerOutput | None) -> str:
    if answered is None or state.get("error"):
        return "failed"
    if answered.final_answer == UNABLE:
        return "undetermined"
    return "best_effort" if state.get("stop_reason") else "answered"
