"""Where control goes: pure decisions.

The routes that the graph is wired with state the wish alone; the gates ``loop.transform``, ``loop.regenerate`` and
``loop.hops`` bound it. `decide_to_generate` and `grade_generation_vs_context_and_question` have wish and bound in one,
as the requirement names them, for callers without gates; with the default limits, on questions without another hop,
they agree with wish and gate on every state.
"""

import logging
from typing import Literal

from loopwright.workflows.rag.constants import Defaults, LogMessages, RouteDecision
from loopwright.workflows.rag.schemas import AnswerGrade, Route
from loopwright.workflows.rag.state import GraphState, retry_limit

logger = logging.getLogger("loopwright.rag")

AfterGrading = Literal["answer_generation", "query_transformation", "next_hop"]
"""Where control is wished to go after passages were graded."""

AfterAnswer = Literal["useful", "not_useful", "not_supported"]
"""What an answer turned out to be."""


def route_of_question(state: GraphState) -> Route:
    """Where a question goes first."""
    return state.get("route", "knowledge_graph_retrieval")


def wish_after_grading(state: GraphState) -> AfterGrading:
    """The wish alone: ask in other words where nothing relevant was found, go on where the question has another hop."""
    if not state.get("documents"):
        return "query_transformation"
    return "next_hop" if state.get("next_query") else "answer_generation"


def wish_after_answer(state: GraphState) -> AfterAnswer:
    """The wish alone: what the verdicts say of the answer; without verdicts it is the end.

    It is the end too where even the web had nothing, but for a question that went there before the documents.
    """
    grade: AnswerGrade | None = state.get("answer_grade")
    last = state.get("web_searched") and state.get("route") != "web_search"
    nothing = last and not (state.get("documents") or state.get("earlier_documents"))
    if grade is None or nothing or (grade.supported and grade.useful):
        return "useful"
    return "not_useful" if grade.supported else "not_supported"


def decide_to_generate(state: GraphState) -> RouteDecision:
    """Wish and bound in one: answer, ask in other words, or fall back to the web when that is used up.

    Reads ``documents`` (the relevant ones), ``retry_count`` and ``max_retry_count``.
    """
    if state.get("documents"):
        return RouteDecision.ANSWER_GENERATION
    spent = _is_spent(state.get("retry_count", 0), retry_limit(state), LogMessages.MAX_RETRIES_REACHED)
    return RouteDecision.WEB_SEARCH if spent else RouteDecision.QUERY_TRANSFORMATION


def grade_generation_vs_context_and_question(state: GraphState) -> RouteDecision:
    """Wish and bound in one: accept the answer, write it anew, or ask in other words.

    Reads ``answer_grade``, ``retry_count``, ``max_retry_count`` and ``regeneration_count``.

    Returns:
        `USEFUL` also where a bound is reached: the run then ends with its best effort, and its status says so.
    """
    wish, spent = RouteDecision(wish_after_answer(state)), False
    if wish is RouteDecision.NOT_USEFUL:
        spent = _is_spent(state.get("retry_count", 0), retry_limit(state), LogMessages.MAX_RETRIES_BEST_EFFORT)
    elif wish is RouteDecision.NOT_SUPPORTED:
        written = state.get("regeneration_count", 0)
        spent = _is_spent(written, Defaults.MAX_REGENERATIONS, LogMessages.MAX_REGENERATIONS_REACHED)
    return RouteDecision.USEFUL if spent else wish


def _is_spent(spent: int, limit: int, told: str) -> bool:
    if spent >= limit:
        logger.warning(told.format(spent, limit))
    return spent >= limit
