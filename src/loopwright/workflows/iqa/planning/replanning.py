"""A new plan from the last one: which rules are asked, and what the rationale tells."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from loopwright.workflows.iqa.planning.rules import EVIDENCE_RULES, WORD_RULES, Case
from loopwright.workflows.iqa.question.reading import QueryReading
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerOutput, QueryType
from loopwright.workflows.iqa.tools.registry import all_tools

NOTHING_LEFT = "Nothing useful is left to change, so the plan stays as it was."
"""What the rationale of an unchanged plan says."""

TRIED = "Tools tried so far: "
"""Begins the sentence of a rationale that carries the tools of all passes; the state keeps only the last evidence."""


def revise(
    previous: PlannerOutput, evidence: ExecutorOutput | None, feedback: Sequence[str], reading: QueryReading
) -> PlannerOutput:
    """Change a plan so that it finds what was missing.

    Args:
        previous: The plan that was not enough.
        evidence: What it found.
        feedback: Why plans were not enough, oldest first; at least one reason.
        reading: What the query asks for.

    Returns:
        The changed plan; one with `NOTHING_LEFT` in its rationale and otherwise equal to `previous` if no rule applies.
    """
    found = evidence or ExecutorOutput()
    tried = _tried(previous, found, feedback)
    case = Case(previous, found, reading, feedback[-1].lower(), tried)
    told: list[str] = []
    if previous.query_type is not QueryType.OTHER:
        for rules in (EVIDENCE_RULES, WORD_RULES):
            if told or (rules is WORD_RULES and found.error):
                break
            for rule in rules:
                change = rule(case)
                if change:
                    told.append(change.why)
                    case = dataclasses.replace(case, plan=_changed(case.plan, change.fields))
    sentences = [f"Replanned, because: {feedback[-1].rstrip('.')}."]
    sentences += [NOTHING_LEFT] if case.plan.same_work(previous) else [f"{why}." for why in told]
    if tried:
        sentences.append(f"{TRIED}{', '.join(tool.name for tool in all_tools() if tool.name in tried)}.")
    return case.plan.model_copy(update={"rationale": " ".join(sentences)})


def _tried(previous: PlannerOutput, evidence: ExecutorOutput, feedback: Sequence[str]) -> frozenset[str]:
    """The tools of this pass, and of the earlier ones, whose evidence is gone, from what plans and reasons told."""
    names = {log.tool for log in evidence.tool_logs} | set(evidence.quality_scores)
    _, _, told = previous.rationale.rpartition(TRIED)
    known = {tool.name for tool in all_tools()}
    names |= known & set(re.findall(r"[\w-]+", told if TRIED in previous.rationale else ""))
    for entry in feedback:
        names |= known & set(re.findall(r"\b[Tt]ool ([\w-]+) failed", entry))
    return frozenset(names)


def _changed(plan: PlannerOutput, fields: dict[str, Any]) -> PlannerOutput:
    """A validated copy: `model_copy` alone would not keep the plan's own rules."""
    values = {name: getattr(plan, name) for name in PlannerOutput.model_fields}
    return PlannerOutput.model_validate({**values, **fields})
