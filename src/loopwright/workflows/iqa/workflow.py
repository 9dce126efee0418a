"""The image-quality workflow: the only door to it, for Python, the command line, the server and the page."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from operator import index
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack, cast

from pydantic import Field, NonNegativeInt
from pydantic_core import to_jsonable_python

from loopwright.config import shipped
from loopwright.diagram import mermaid, save_mermaid
from loopwright.engine import BoundedGraph, RunEvent, RunResult
from loopwright.engine import arun as engine_arun
from loopwright.engine import run as engine_run
from loopwright.engine import stream as engine_stream
from loopwright.engine.events.schema import LoopDecided, NodeStarted, Told
from loopwright.errors import unknown_name_message
from loopwright.workflows.api import UPLOAD, ClientEvent, Example, NodeInfo, Outcome, Run, Text, Workflow, WorkflowInput
from loopwright.workflows.evaluation.questions import Expected
from loopwright.workflows.evaluation.scores import answer_scores
from loopwright.workflows.iqa.answer.facts import UNABLE, recognised
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.distortions import parse_distortion
from loopwright.workflows.iqa.graph import build_graph
from loopwright.workflows.iqa.measuring.severity import SAME_THING, closeness
from loopwright.workflows.iqa.schemas import Box, ExecutorOutput, SummarizerOutput
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.sources.images import at_home
from loopwright.workflows.iqa.state import AgenticIQAInput, AgenticIQAState
from loopwright.workflows.runtime import Session

logger = logging.getLogger("loopwright.iqa")

Picture = Annotated[str, Field(json_schema_extra={"format": UPLOAD, "contentMediaType": "image/*"})]
# Where it lies outside of the picture, the check against the picture says by how much, and what would fit.
_Pixels = tuple[int, int, NonNegativeInt, NonNegativeInt]


class IQAInput(WorkflowInput):
    """What a question about a picture takes."""

    query: Text = Field(title="Question")
    """The question."""
    image: Picture = Field(title="Picture")
    """The picture."""
    reference: Picture | None = Field(
        default=None, title="Reference",
        description="The same picture without faults, if there is one, of the same size.",
    )  # fmt: skip
    """The pristine picture."""
    max_replan_iterations: NonNegativeInt | None = Field(
        default=None, title="Replans",
        description="How many are allowed; by default as configured, 0 switches them off.",
    )  # fmt: skip
    """Replans that are allowed."""
    region: _Pixels | None = Field(
        default=None, title="Region",
        description="Left, top, width and height in pixels, if only a part is asked about.",
    )  # fmt: skip
    """Left, top, width and height."""


def sample_path(name: str) -> Path:
    """Where a picture to try it on lies, so that a run that is taken up again finds it: a harbour of `data/sample`."""
    return Path(str(resources.files("loopwright.workflows.iqa"))) / "data" / "sample" / _SAMPLES[name]


# Drawn with OpenCV, line by line; one is blurred by a Gaussian of 2.2 pixels, one a JPEG of quality 8.
_SAMPLES = {Path(file).stem: file for file in ("harbour.png", "harbour-blurred.png", "harbour-compressed.jpg")}

_SHOWN: dict[str, Any] = shipped("loopwright.workflows.iqa", "data/workflow.yaml")
"""What people are shown of it: questions to try on the sample pictures, and of each stage."""


class PipelineOptions(TypedDict, total=False):
    """What `run_pipeline` takes besides the query and the image."""

    reference_path: str | Path | None
    """The pristine image to compare with, if there is one."""
    max_replan_iterations: int | None
    """Replans that are allowed; None takes the configuration's value, 0 switches them off."""
    config: IQAConfig | None
    """The configuration; by default the embedded one, without a model."""
    sample_id: str | None
    """Names the run's checkpoint; by default a hash of input and configuration."""
    resume: bool
    """Go on from the sample's last checkpoint; finished stages do not run again."""
    force: bool
    """Resume also if a graph of another structure began the run."""
    region: Box | None
    """Left, top, width, height in pixels, if only a part is asked about."""
    services: Services | None
    """The models; by default those of the configuration."""


class IQAWorkflow(Workflow[Services]):
    """Questions about the quality of a picture."""

    name = "iqa"
    title = "Image quality"
    description = (
        "Answers questions about the technical quality of a picture from measurements: which distortions, how strong, "
        "what score. Where the evidence does not suffice it plans anew, a few times at most."
    )
    Input = IQAInput
    Config = IQAConfig
    Services = Services
    nodes: Mapping[str, NodeInfo] = {stage: NodeInfo(**each) for stage, each in _SHOWN["nodes"].items()}
    model_nodes = IQAConfig.model_nodes
    state_schema = AgenticIQAState
    places = frozenset({"image_path", "reference_path"})
    examples = tuple(Example(**each) for each in _SHOWN["examples"])
    expected = ("score", "distortion")  # people's score, 1 (bad) to 5 (excellent), and the type of distortion, or none
    samples: Mapping[str, Path] = {f"sample:{name}": sample_path(name) for name in _SAMPLES}
    prompts = Services.prompts()

    def score(self, expected: Expected, outcome: Outcome) -> Mapping[str, float | None]:
        """What can be said of an answer about a picture.

        Returns:
            ``em``, ``f1`` and ``contains`` of the final answer; ``within_half``: whether the score is at most half a
            level from people's; ``distortion``: whether the strongest one that was surely found is the expected one, or
            none is.
        """
        answered = outcome.details.get("summarizer_result") or {}
        scores: dict[str, float | None] = {}
        if expected.answers is not None and answered:
            scores |= answer_scores(str(answered.get("final_answer", "")), expected.answers)
        if (people := expected.own.get("score")) is not None:
            given = answered.get("quality_score")
            scores["within_half"] = float(given is not None and abs(given - people) <= 1 / 2)
        if (wanted := expected.own.get("distortion")) is not None:
            scores["distortion"] = float(_is_found(str(wanted), outcome))
        return scores

    def rated(self, expected: Expected, outcome: Outcome) -> tuple[float, Mapping[str, float]] | None:
        """People's score, and beside it that of the answer and of every tool that ran."""
        people = expected.own.get("score")
        scores = {"answer" if name == "quality_score" else name: score for name, score in outcome.scores.items()}
        return None if people is None else (float(people), scores)

    def build(self, services: Services) -> BoundedGraph:
        """Make the graph."""
        return build_graph(services=services)

    def start(self, given: IQAInput, uploads: Mapping[str, Path], run_id: str) -> AgenticIQAInput:
        """What the graph is run with; a picture is the id of an upload, or ``sample:NAME`` for one of the samples."""
        config, limit = self.services.config, given.max_replan_iterations
        limit = config.iqa.max_replan_iterations if limit is None else limit
        if limit > (most := config.langgraph.max_iterations):
            logger.warning("max_replan_iterations=%d is above langgraph.max_iterations=%d, which counts", limit, most)
        return AgenticIQAInput(
            query=given.query,
            image_path=str(self.placed("image", given.image, uploads)),
            reference_path=str(self.placed("reference", given.reference, uploads)) if given.reference else None,
            # A list, as every checkpointer gives it back.
            region=cast("Box", list(given.region)) if given.region else None,
            iteration_count=0,
            max_replan_iterations=min(limit, most),
            replan_history=[],
            sample_id=run_id,
        )

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> Run:
        """Prepare a run; see `start`."""
        return _IqaRun(given, self.start(cast("IQAInput", self.read(given)), uploads, run_id), given["query"], self)

    def outcome(self, state: Mapping[str, Any]) -> Outcome:
        """The answer with its reasons, and the tools' scores."""
        answered: SummarizerOutput | None = state.get("summarizer_result")
        evidence: ExecutorOutput = state.get("executor_evidence") or ExecutorOutput()
        score = answered.quality_score if answered else None
        details = {key: state.get(key) for key in DETAILS}
        return Outcome(
            answer=f"**{answered.final_answer}**\n\n{answered.quality_reasoning}" if answered else "",
            status=_status(state, answered),
            # How good the picture is says nothing of how good the answer is, which nobody measures here.
            scores={**({} if score is None else {"quality_score": score}), **evidence.quality_scores},
            details=to_jsonable_python(details, fallback=str),
            error=state.get("error"),
        )


DETAILS = (
    "plan", "summarizer_result", "executor_evidence", "iteration_count", "replan_history", "stop_reason",
)  # fmt: skip
"""What an outcome tells of the state."""


class _IqaRun(Run):
    @property
    def identity(self) -> Mapping[str, Any]:
        """What is asked of which pictures, by their content."""
        given = {key: value for key, value in self.graph_input.items() if key != "sample_id"}
        return {**given, "image content": content_of(self.graph_input)}

    def told(self, event: RunEvent) -> Iterable[Told]:
        """What is being done, and why it is planned anew."""
        if isinstance(event, NodeStarted) and event.node in _SHOWN["progress"]:
            yield Told(kind="progress", node=event.node, message=_SHOWN["progress"][event.node])
        elif isinstance(event, LoopDecided) and event.decision == "granted":
            reason = self.plain("reason", event.reason).rstrip(".")
            yield Told(
                kind="thinking",
                node="planner",
                message=f"That does not suffice yet. {reason}. Let me plan anew.",
                data={"reason": reason, "iteration": event.spent, "limit": event.limit},
            )

    def plain(self, key: str, value: Any) -> Any:
        """A value of the state in plain JSON, pictures by the names of their files."""
        return self._without_folders(to_jsonable_python(value, fallback=str))

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        """The answer with its reasons, and the tools' scores."""
        outcome, events = await super().ended(result)
        return Outcome.model_validate(self._without_folders(outcome.model_dump(mode="json"))), events

    def _without_folders(self, value: Any) -> Any:
        """Plain JSON in which nothing says where the pictures lie."""
        for key in ("image_path", "reference_path"):
            if place := self.graph_input.get(key):
                value = replaced(value, place, Path(place).name)
        return value


def replaced(value: Any, old: str, new: str) -> Any:
    """Plain JSON with one text in place of another, wherever that stands in it."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {key: replaced(inner, old, new) for key, inner in cast("dict[str, Any]", value).items()}
    return [replaced(inner, old, new) for inner in cast("list[Any]", value)] if isinstance(value, list) else value


def _status(state: Mapping[str, Any], answered: SummarizerOutput | None) -> str:
    if answered is None or state.get("error"):
        return "failed"
    if answered.final_answer.startswith(UNABLE):
        return "undetermined"
    return "best_effort" if state.get("stop_reason") else "answered"


def _is_found(wanted: str, outcome: Outcome) -> bool:
    evidence = outcome.details.get("executor_evidence")
    if evidence is None:
        return False
    analysis = ExecutorOutput.model_validate(evidence).distortion_analysis
    found = recognised(item for items in analysis.values() for item in items)
    if wanted == "none" or found is None:
        return wanted == "none" and found is None
    return closeness(parse_distortion(wanted), found) >= SAME_THING


def run_pipeline(
    query: str,
    image_path: str | Path,
    reference_path: str | Path | None = None,
    max_replan_iterations: int | None = None,
    config: IQAConfig | None = None,
    sample_id: str | None = None,
    resume: bool = False,
    *,
    force: bool = False,
    region: Box | None = None,
    services: Services | None = None,
) -> AgenticIQAState:
    """Assess one image.

    Args:
        query: The question.
        image_path: The image.
        reference_path: The pristine image to compare with, if there is one.
        max_replan_iterations: Replans that are allowed; None takes the configuration's value, 0 switches them off.
        config: The configuration; by default the embedded one, without a model.
        sample_id: Names the run's checkpoint; by default a hash of input and configuration.
        resume: Go on from the sample's last checkpoint; finished stages do not run again. Without one, start anew.
        force: Resume also if a graph of another structure began the run, for example another version of the package.
        region: Left, top, width, height in pixels, if only a part is asked about.
        services: The models; by default those of the configuration.

    Returns:
        The final state. ``stop_reason`` says whether a bound was reached.

    Raises:
        InputError: If the number of replans or the region is none.
        NodeFailed: If a stage failed for good, unless errors are graceful; its cause is the original error.
        CheckpointError: If the checkpoint belongs to another input or, unless forced, to another graph.
    """
    result = trace_pipeline(
        query, image_path, reference_path=reference_path, max_replan_iterations=max_replan_iterations, config=config,
        sample_id=sample_id, resume=resume, force=force, region=region, services=services,
    )  # fmt: skip
    return cast("AgenticIQAState", result.state)


def trace_pipeline(query: str, image_path: str | Path, **options: Unpack[PipelineOptions]) -> RunResult:
    """Assess one image; like `run_pipeline`, with the events of the run beside the final state."""
    with _session_of(query, image_path, **options) as session:
        return engine_run(session.graph, session.input, **session.options)


async def arun_pipeline(query: str, image_path: str | Path, **options: Unpack[PipelineOptions]) -> AgenticIQAState:
    """Assess one image without blocking the event loop; see `run_pipeline`."""
    with _session_of(query, image_path, **options) as session:
        result = await engine_arun(session.graph, session.input, **session.options)
        return cast("AgenticIQAState", result.state)


def stream_pipeline(query: str, image_path: str | Path, **options: Unpack[PipelineOptions]) -> Iterator[RunEvent]:
    """Assess one image and yield what happens as it happens; see `run_pipeline`."""
    with _session_of(query, image_path, **options) as session:
        yield from engine_stream(session.graph, session.input, **session.options)


def visualize_graph(graph: BoundedGraph | None = None, folder: str | Path | None = None) -> str:
    """The pipeline as a Mermaid diagram, with the limit on the loop's edge.

    Args:
        graph: A graph of `build_graph`; by default the whole pipeline.
        folder: Where to save ``graph_structure.mmd``; None does not save it.
    """
    topology = (graph or build_graph()).topology()
    if folder is not None:
        save_mermaid(topology, Path(folder))
    return mermaid(topology)


@cache
def _without_config() -> Services:
    """The services for who gives none, so that the graph is proved once."""
    return Services.of(IQAConfig())


def _session_of(query: str, image_path: str | Path, **options: Unpack[PipelineOptions]) -> Session:
    unknown = set(options) - set(PipelineOptions.__annotations__)
    if unknown:
        raise TypeError(unknown_name_message("option", min(unknown), PipelineOptions.__annotations__))
    config = options.get("config")
    services = options.get("services") or (Services.of(config) if config else _without_config())
    if config in (None, services.config):
        workflow = services.opened.once(f"workflow of {id(services)}", lambda: IQAWorkflow(services))
    else:
        workflow = IQAWorkflow(Services(config, services.models, opened=services.opened))
    pictures = {"image": image_path, "reference": options.get("reference_path")}
    places = {key: Path(at_home(path)) for key, path in pictures.items() if path}
    numbers = {key: options.get(key) for key in ("max_replan_iterations", "region")}
    # A whole number of any library is taken as Python's own.
    plain = to_jsonable_python(numbers, fallback=lambda n: index(n) if hasattr(n, "__index__") else str(n))
    given = {"query": query, **{key: key for key in places}, **plain}
    run = workflow.run(given, places, "")
    session = workflow.session(
        run, run_id=options.get("sample_id"), resume=options.get("resume", False), force=options.get("force", False)
    )
    run.graph_input["sample_id"] = session.run_id
    return session


def content_of(state: AgenticIQAInput) -> str:
    """A hash of what the image files hold."""
    digest = hashlib.sha256()
    for key in ("image_path", "reference_path"):
        # A file that cannot be read has no content to tell apart; the executor says what is wrong with it.
        with suppress(OSError, ValueError):
            if (path := Path(state.get(key) or "")).is_file():
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
