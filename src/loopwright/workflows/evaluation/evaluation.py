"""Asking a workflow questions with known answers, and again without each of its loops."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from time import monotonic
from typing import Any, ParamSpec

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from loopwright.engine import BoundedGraph, arun, bounded
from loopwright.engine.events.schema import LoopDecided
from loopwright.engine.nodes.policy import cause_of
from loopwright.errors import InputError, NodeFailed
from loopwright.models.usage import usage_of_the_run
from loopwright.models.validation import problem_lines
from loopwright.workflows.api import Outcome, Run, Workflow, upload_fields
from loopwright.workflows.evaluation.questions import Question, read_questions
from loopwright.workflows.evaluation.results import EvaluatedAnswer, Evaluation, LoopGain, figures_of, means_of
from loopwright.workflows.evaluation.scores import scores_of
from loopwright.workflows.runtime import to_its_end

P = ParamSpec("P")
_SCORES = TypeAdapter(dict[str, FiniteFloat | None])
_RATED = TypeAdapter(tuple[FiniteFloat | None, dict[str, FiniteFloat]])
AT_ONCE = 4
"""Questions that are asked at the same time."""

Listener = Callable[[int, int], None]
"""Told how many runs are done, and how many there are as far as is known: runs without a loop come last."""


async def aevaluate(
    workflow: Workflow[Any],
    questions: Path | Sequence[Question],
    *,
    without_loops: bool = False,
    limit: int | None = None,
    at_once: int = AT_ONCE,
    on_progress: Listener | None = None,
) -> Evaluation:
    """Ask questions whose outcomes are known, and compare; `evaluate` is the same outside of an event loop.

    Args:
        workflow: Who is asked.
        questions: The questions, or a file of them; see `read_questions`. Files that an input names lie beside it.
        without_loops: Whether the questions for which a loop went round are asked again with this loop's limit at 0,
            to tell what it brings.
        limit: At most so many questions, from the first; None asks all.
        at_once: Questions that are asked at the same time; with 1, the seconds of each are its own.
        on_progress: Told before the first run and after each; see `Listener`.

    Raises:
        InputError: If a question is broken, or is no input of the workflow.
        RuntimeError: From `evaluate`, inside a running event loop; there, ``await aevaluate(...)``.
    """
    folder = questions.parent if isinstance(questions, Path) else Path()
    if isinstance(questions, Path):
        config = workflow.Input.model_config
        by_name = config.get("populate_by_name") or config.get("validate_by_name")
        named = workflow.Input.model_fields if by_name else ()
        fields = dict.fromkeys((*workflow.input_schema["properties"], *named))
        questions = read_questions(questions, list(fields), workflow.expected, limit=limit)
    asker = _Asker(workflow, folder, at_once, on_progress)
    questions = questions[:limit]
    await asyncio.to_thread(asker.check, questions)
    graph = await asyncio.to_thread(workflow.graph, None)
    outcomes = await asker.ask(questions, graph)
    gains: dict[str, LoopGain] = {}
    for loop in graph.loops if without_loops else ():
        again = [each for each, asked in zip(questions, outcomes, strict=True) if asked.passes.get(loop.name)]
        without = await asker.ask(again, without_loop(graph, loop.name)) if again else []
        gains[loop.name] = gain_of(loop.name, outcomes, without)
    kinds = dict.fromkeys(asked.kind for asked in outcomes)
    return Evaluation(
        workflow=workflow.name,
        questions=len(outcomes),
        figures=figures_of(outcomes),
        by_kind={kind: figures_of([one for one in outcomes if one.kind == kind]) for kind in kinds if len(kinds) > 1},
        statuses=dict(Counter(asked.status for asked in outcomes).most_common()),
        loops=gains,
        outcomes=tuple(outcomes),
    )


def _waited_for(function: Callable[P, Coroutine[Any, Any, Evaluation]]) -> Callable[P, Evaluation]:
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Evaluation:
        return to_its_end(function(*args, **kwargs))

    call.__name__ = call.__qualname__ = "evaluate"  # also to be pickled
    return call


evaluate = _waited_for(aevaluate)


def without_loop(graph: BoundedGraph, name: str) -> BoundedGraph:
    """The same graph in which one loop is allowed no pass."""
    loops = [replace(loop, limit=0, source_limits={}) if loop.name == name else loop for loop in graph.loops]
    return bounded(graph.given, loops, budget=graph.budget).with_config(graph.config)


def gain_of(loop: str, outcomes: Sequence[EvaluatedAnswer], without: Sequence[EvaluatedAnswer]) -> LoopGain:
    """What a loop costs and brings.

    `without` is what came without it of the questions for which it went round; the others would be the same.
    """
    others = {asked.id: asked for asked in without}
    pairs = [(asked.numbers, others.get(asked.id, asked).numbers) for asked in outcomes]
    both = ({name: (value, other.get(name)) for name, value in own.items()} for own, other in pairs)
    gains = [{name: None if a is None or b is None else a - b for name, (a, b) in each.items()} for each in both]
    passes = sum(asked.passes.get(loop, 0) for asked in outcomes)
    return LoopGain(passes=passes, questions=len(without), gains=means_of(gains))


class _Asker:
    """Asks one workflow, some questions at a time."""

    def __init__(self, workflow: Workflow[Any], folder: Path, at_once: int, on_progress: Listener | None) -> None:
        self._workflow = workflow
        self._folder = folder
        self._places = asyncio.Semaphore(at_once)
        self._on_progress = on_progress
        self._done = self._total = 0
        self._files = upload_fields(workflow.Input)

    def check(self, questions: Sequence[Question]) -> None:
        """Find out before the first run what is no input, and what can never be cited."""
        cited = dict.fromkeys(name for question in questions for name in question.expected.citations or ())
        unknown = set(self._workflow.uncitable(list(cited)))
        for question in questions:
            try:
                self._prepared(question)
            except InputError as error:
                raise InputError(f"question {question.id!r}: {error}") from error
            for name in filter(unknown.__contains__, question.expected.citations or ()):
                raise InputError(
                    f"question {question.id!r} expects the citation {name!r}, which {self._workflow.name} does not "
                    "have; mend 'citations', or have it read what belongs to the questions"
                )

    async def ask(self, questions: Sequence[Question], graph: BoundedGraph) -> list[EvaluatedAnswer]:
        """Ask questions; when one cannot be asked, the others are given up."""
        self._total += len(questions)
        self._tell(0)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(question, graph)) for question in questions]
        return [task.result() for task in tasks]

    async def _one(self, question: Question, graph: BoundedGraph) -> EvaluatedAnswer:
        prepared = self._prepared(question)
        usage_of_the_run.set(prepared.usage)
        passes, began = Counter[str](), monotonic()
        # Nothing that one question does may end the evaluation.
        try:
            async with self._places:
                began = monotonic()
                result = await arun(prepared.within(graph), prepared.graph_input, texts=prepared.texts)
            result = self._workflow.ended(result)
            outcome, _ = await prepared.ended(result)
            decided = (event for event in result.events if isinstance(event, LoopDecided))
            passes.update(event.loop for event in decided if event.decision == "granted")
        except (Exception, SystemExit) as error:
            outcome = Outcome(status="failed", error=_told(error))
        own, people, ranked = {}, None, {}
        try:
            own = _SCORES.validate_python(self._workflow.score(question.expected, outcome))
            people, ranked = _RATED.validate_python(self._workflow.rated(question.expected, outcome) or (None, {}))
        except Exception as error:
            outcome = outcome.model_copy(update={"error": outcome.error or f"it cannot be scored: {_told(error)}"})
        self._tell(1)
        return EvaluatedAnswer(
            id=question.id, kind=question.kind, input=question.input, status=outcome.status, answer=outcome.answer,
            cited=tuple(citation.mark for citation in outcome.citations),
            scores={**scores_of(question.expected, outcome), **own}, passes=dict(passes),
            model_calls=prepared.usage.total().calls, seconds=monotonic() - began,
            people=people, ranked=dict(ranked), error=outcome.error,
        )  # fmt: skip

    def _prepared(self, question: Question) -> Run:
        files = [question.input[name] for name in self._files if isinstance(question.input.get(name), str)]
        uploads = {name: self._folder / name for name in files if (self._folder / name).is_file()}
        return self._workflow.run(question.input, uploads, f"evaluation-{question.id}")

    def _tell(self, done: int) -> None:
        self._done += done
        if self._on_progress:
            self._on_progress(self._done, self._total)


def _told(error: BaseException) -> str:
    """What went wrong, without the node's input, which is long."""
    cause = cause_of(error) if isinstance(error, NodeFailed) else error
    where = f"node {error.node!r}: " if isinstance(error, NodeFailed) else ""
    said = "; ".join(problem_lines(cause)) if isinstance(cause, ValidationError) else " ".join(str(cause).split())
    return f"{where}{type(cause).__name__}: {said}"
