"""Where control goes: pure decisions that state the wish alone; the gates bound it.

`should_retry`, which has wish and bound in one as the requirement names it, is in `graph` beside the settings that it
reads.
"""

from typing import Literal

from loopwright.workflows.assistant.state import AssistantState


def after_fetching(state: AssistantState) -> Literal["update_profile", "generate_acknowledgment"]:
    """Whether the question says something of the person that is not known yet."""
    return "update_profile" if state.get("profile_needs_update") else "generate_acknowledgment"


def wish_after_check(state: AssistantState) -> Literal["retry", "generate_response"]:
    """The wish alone: search again where that would help."""
    return "retry" if state.get("retry_wanted") else "generate_response"
