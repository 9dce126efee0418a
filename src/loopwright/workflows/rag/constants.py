"""The requirement's names: routes, limits and log lines."""

from enum import StrEnum


class RouteDecision(StrEnum):
    """Where control goes after a grading."""

    WEB_SEARCH = "web_search"
    """Look on the web: the graph has nothing on it."""
    QUERY_TRANSFORMATION = "query_transformation"
    """Ask the graph in other words."""
    ANSWER_GENERATION = "answer_generation"
    """Answer from what was found."""
    USEFUL = "useful"
    """The answer stands on its sources and answers the question, or is the best that there is."""
    NOT_USEFUL = "not_useful"
    """The answer does not answer the question."""
    NOT_SUPPORTED = "not_supported"
    """The answer says what its sources do not."""


class Defaults:
    """Limits where neither configuration nor caller says otherwise."""

    MAX_RETRY_COUNT = 3
    """Query transformations in one run."""
    MAX_REGENERATIONS = 2
    """Further attempts at an answer that its sources do not support, in one run."""
    MAX_HOPS = 4
    """Searches that an answer to a part of the question leads to, in one run."""


class LogMessages:
    """The lines that are logged, as templates."""

    RETRY_COUNT_INFO = "---RETRY COUNT: {}/{}---"
    """At every query transformation: which one, of how many."""
    MAX_RETRIES_REACHED = "---MAX RETRIES REACHED: {}/{}. FALLING BACK TO WEB SEARCH---"
    """The graph has nothing relevant, and the transformations are used up."""
    MAX_RETRIES_BEST_EFFORT = "---MAX RETRIES REACHED: {}/{}. ACCEPTING BEST-EFFORT ANSWER---"
    """The answer does not answer the question, and the transformations are used up."""
    MAX_REGENERATIONS_REACHED = "---MAX REGENERATIONS REACHED: {}/{}. ACCEPTING BEST-EFFORT ANSWER---"
    """The answer says what its sources do not, and the further attempts are used up."""
