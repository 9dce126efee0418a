"""What agents that never end are made of, and what a provider refuses their history for."""

from typing import Any

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, ToolMessage


def search(query: str) -> str:
    """Search."""
    return "Nothing found."


def calls(*tools: str, **args: Any) -> Any:
    """A reply that calls tools, for a search unless it says otherwise, with ids of its own."""

    def reply(messages: Any) -> AIMessage:
        given = args or {"query": "loop"}
        asked = [{"name": tool, "args": given, "id": f"{len(messages)}-{place}"} for place, tool in enumerate(tools)]
        return AIMessage("", tool_calls=asked)

    return reply


class JumpsAfterModel(AgentMiddleware):
    """Sends the agent back to its model and leaves its calls unanswered."""

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> Any:
        return {"jump_to": "model"}


def unanswered(messages: Any) -> set[str]:
    """What a provider refuses a history for: calls without an answer before the next message, answers without a call."""
    left, wrong = set[str](), set[str]()
    for message in messages:
        if isinstance(message, ToolMessage):
            wrong |= {message.tool_call_id} - left
            left.discard(message.tool_call_id)
        else:
            wrong |= left
            left = {call["id"] for call in getattr(message, "tool_calls", [])}
    return wrong | left
