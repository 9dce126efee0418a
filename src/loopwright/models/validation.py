"""Validation errors of pydantic as short, exact lines."""

from pydantic import ValidationError

from loopwright.errors import own_words

MAX_LINES = 8
"""More lines than this do not help a model or a reader; the rest is counted."""


def problem_lines(error: ValidationError, *, show_input: bool = True) -> list[str]:
    """Say what pydantic found, one line per problem: ``path: message (got value)``; after `MAX_LINES` how many more.

    The offending value is not to be shown where it can be a secret.
    """
    problems = error.errors(include_url=False, include_context=False)
    lines: list[str] = []
    for problem in problems[:MAX_LINES]:
        path = ".".join(str(part) for part in problem["loc"]) or "the whole object"
        # For a missing field or a rule of the whole object the input is the object itself, which says nothing new.
        given = problem["input"]
        shown = f" (got {repr(given)[:80]})" if show_input and not isinstance(given, (dict, list)) else ""
        lines.append(f"{path}: {own_words(problem['msg'])}{shown}")
    if len(problems) > MAX_LINES:
        lines.append(f"and {len(problems) - MAX_LINES} more")
    return lines
