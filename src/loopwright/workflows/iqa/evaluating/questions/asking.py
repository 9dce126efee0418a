"""Putting a question to the stage that it tests: to the planner, to the summarizer, or to the whole pipeline."""

from __future__ import annotations

import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from loopwright.engine import BoundedGraph
from loopwright.engine import run as engine_run
from loopwright.errors import InputError, UnknownNameError
from loopwright.workflows.iqa.answering.choices import UNABLE, parse_choice
from loopwright.workflows.iqa.answering.claims import says_cannot_tell
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.evaluating.manifest import Row
from loopwright.workflows.iqa.evaluating.questions.plans import ASPECTS, what_the_plan_says
from loopwright.workflows.iqa.nodes import planner_node, summarizer_node
from loopwright.workflows.iqa.pipeline import initial_state
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerOutput
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.state import AgenticIQAState

PLANNER, DISTORTION, TOOL, SUMMARIZER = "planner", "distortion", "tool", "summarizer"
KINDS = (PLANNER, DISTORTION, TOOL, SUMMARIZER)
"""What questions test."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered to a question."""

    letter: str | None
    """The letter of an option, or None if it was said that it cannot be told."""
    said: str
    """The answer in words."""

    def verdict(self, row: Row) -> str:
        """``"right"``, ``"wrong"`` or ``"cannot tell"``.

        Args:
            row: The question.
        """
        if self.letter == row.answer:
            return "right"
        option = None if self.letter is None else row.options[string.ascii_uppercase.index(self.letter)]
        # As a strength, "none" says something.
        says_nothing = option is None or (says_cannot_tell(option) and option.casefold() != Severity.NONE)
        return "cannot tell" if says_nothing else "wrong"


class Asker:
    """Puts questions to one configuration's stages."""

    def __init__(self, root: Path, config: IQAConfig, services: Services, graph: BoundedGraph) -> None:
        """Prepare.

        Args:
            root: What the rows' paths are relative to.
            config: The configuration.
            services: The models.
            graph: The pipeline of this configuration.
        """
        self._root = root
        self._config = config
        self._services = services
        self._graph = graph

    def ask(self, row: Row) -> Reply:
        """The answer to a row's question.

        A question of the kind planner that hands over a user's question (``given``: ``query`` and ``aspect``) is
        answered by the plan that the planner makes for it; one of the kind summarizer that hands over a plan and
        evidence by the summarizer alone; every other by the whole pipeline, which sees the options.

        Args:
            row: The question.

        Raises:
            LoopwrightError: If a stage failed, or the row is no such question.
        """
        if row.kind == PLANNER and row.given:
            return self._planned(row, row.given)
        state = self._state(row, row.asked)
        if row.kind == SUMMARIZER and row.given:
            result = self._summarized(row, state, row.given)
        else:
            result = engine_run(self._graph, state).state
        answered = result.get("summarizer_result")
        if answered is None:
            raise InputError(str(result.get("error") or "the run ended before the summarizer"))
        options = dict(zip(string.ascii_uppercase, row.options, strict=False))
        try:
            letter = parse_choice(answered.final_answer, options)
        except UnknownNameError:
            letter = UNABLE
        return Reply(None if letter == UNABLE else letter, answered.final_answer)

    def _state(self, row: Row, query: str) -> AgenticIQAState:
        reference = str(self._root / row.reference) if row.reference else None
        return initial_state(self._config, query, self._root / row.image, {"reference_path": reference})  # type: ignore[return-value]  # the input's keys are a part of the state's

    def _planned(self, row: Row, given: dict[str, Any]) -> Reply:
        aspect = given.get("aspect")
        if aspect not in ASPECTS or not isinstance(given.get("query"), str):
            raise InputError(
                f"line {row.line}: a planner question hands over a query and an aspect of {', '.join(ASPECTS)}"
            )
        plan = planner_node(self._state(row, given["query"]), self._services)["plan"]
        said = what_the_plan_says(plan, aspect)
        words = dict(zip(row.options, string.ascii_uppercase, strict=False))
        return Reply(words.get(said), said)

    def _summarized(self, row: Row, state: AgenticIQAState, given: dict[str, Any]) -> dict[str, Any]:
        try:
            plan = PlannerOutput.model_validate(given["plan"])
            evidence = ExecutorOutput.model_validate(given["evidence"])
        except (KeyError, ValidationError) as error:
            raise InputError(
                f"line {row.line}: a summarizer question hands over a plan and evidence: {error}"
            ) from error
        return summarizer_node({**state, "plan": plan, "executor_evidence": evidence}, self._services)
