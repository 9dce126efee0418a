"""How a reply's schema reaches a model: in the provider's own way where there is one, else in the prompt."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableParallel, RunnableSequence
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from loopwright.models.factory import STRUCTURED_KEY
from loopwright.models.spec import StructuredMethod


def json_schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a reply, with an object at its top and without the titles of the fields."""
    made = schema.model_json_schema(schema_generator=_ShortJsonSchema)
    if "$ref" in made:  # the class contains itself; clients want an object at the top
        made = {**made["$defs"][made["$ref"].rpartition("/")[2]], "$defs": made["$defs"]}
    return made


def declared_method(model: BaseChatModel) -> StructuredMethod:
    """How a model is to be asked for structured replies, as its `ModelSpec` or LangChain's profile says."""
    declared = (model.metadata or {}).get(STRUCTURED_KEY)
    if declared in ("json_schema", "prompt"):
        return declared
    return "prompt" if (model.profile or {}).get("structured_output") is False else "auto"


def enforce(model: BaseChatModel, json_schema: dict[str, Any]) -> Runnable[Any, Any] | None:
    """The model bound to the schema in the best way that its class offers, or None if it offers none."""
    # The schema goes in as a dict: given a pydantic class, some clients validate inside the call and lose the reply.
    for options in ({"method": "json_schema"}, {}):
        try:
            return _without_parser(model.with_structured_output(json_schema, include_raw=True, **options))
        except (NotImplementedError, ValueError):
            continue
    return None


def _without_parser(runnable: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The part that calls the model; all of it where it is not built in the usual way.

    LangChain's own parser mends truncated JSON, which we must not, and it takes quadratic time: 50 s of CPU were
    measured for 100,000 characters of prose.
    """
    first = runnable.first if isinstance(runnable, RunnableSequence) else None
    if isinstance(first, RunnableParallel) and set(first.steps__) == {"raw"}:
        return first.steps__["raw"]
    return runnable


def with_instruction(messages: list[BaseMessage], instruction: str) -> list[BaseMessage]:
    """Put the instruction into the one system message that every model accepts: the first."""
    if messages and isinstance(messages[0], SystemMessage):
        return [SystemMessage(f"{messages[0].text}\n\n{instruction}"), *messages[1:]]
    return [SystemMessage(instruction), *messages]


class _ShortJsonSchema(GenerateJsonSchema):
    """Leaves out the titles of the fields, which repeat their names and cost tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
