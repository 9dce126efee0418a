"""What a graph that somebody wrote takes, as a form: read from the schema of its input."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NotRequired, Required, get_args, get_origin, get_type_hints

from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from typing_extensions import ReadOnly

from loopwright.engine.binding import Builder
from loopwright.workflows.hosting import MULTILINE

MESSAGE = "message"
"""What a form asks for in place of a list of messages."""

_LONGEST_MESSAGE = 100_000
_CONFIG = ConfigDict(arbitrary_types_allowed=True, extra="forbid")


class InputForm:
    """The input of a graph: a JSON schema for forms, and how what they give is read.

    In place of a list of chat messages a form asks for the text of one, from the person who asks.
    """

    def __init__(self, builder: Builder) -> None:
        """Read the schema.

        Args:
            builder: The graph's builder.
        """
        fields = {key: field for key, field in _fields(builder).items() if key in builder.channels}
        self._messages = next((key for key, (kind, _) in fields.items() if holds_messages(kind)), None)
        if self._messages:
            del fields[self._messages]
            text = Field(
                title="Message", min_length=1, max_length=_LONGEST_MESSAGE, json_schema_extra={"format": MULTILINE}
            )
            fields = {MESSAGE: (str, text), **{key: field for key, field in fields.items() if key != MESSAGE}}
        usable = {key: field if _has_schema(field) else (Any, field[1]) for key, field in fields.items()}
        self._model: type[BaseModel] = create_model("Input", __config__=_CONFIG, **usable)  # type: ignore[call-overload]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of what a run takes, an object."""
        return {"properties": {}, **self._model.model_json_schema()}

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The input for the graph.

        Args:
            given: What the form gives, in plain JSON.

        Raises:
            ValidationError: If it does not fit the schema.
        """
        model = self._model.model_validate(dict(given))
        values = {key: getattr(model, key) for key in given}
        if self._messages:
            values = {self._messages: [HumanMessage(values.pop(MESSAGE))], **values}
        return values


def _fields(builder: Builder) -> dict[str, tuple[Any, Any]]:
    """Key -> type and default of everything that the input schema names."""
    schema = builder.input_schema
    hints = get_type_hints(schema, include_extras=True)
    if issubclass(schema, BaseModel):
        return {name: (hints[name], field) for name, field in schema.model_fields.items()}
    if dataclasses.is_dataclass(schema):
        return {field.name: (hints[field.name], _default(field)) for field in dataclasses.fields(schema)}
    # A graph with one schema for everything names there what only its nodes write; then nothing can be asked for.
    whole = hints.keys() == get_type_hints(builder.state_schema).keys()
    required = frozenset[str]() if whole else getattr(schema, "__required_keys__", frozenset[str]())
    kinds = {key: _without_marks(kind) for key, kind in hints.items()}
    return {key: (kind, ...) if key in required else (kind | None, None) for key, kind in kinds.items()}


def _without_marks(kind: Any) -> Any:
    """A type without what only a typed dict can say of it."""
    while get_origin(kind) in (NotRequired, ReadOnly, Required):
        kind = get_args(kind)[0]
    return kind


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return Field(default_factory=field.default_factory)
    return ... if field.default is dataclasses.MISSING else field.default


def _has_schema(field: tuple[Any, Any | FieldInfo]) -> bool:
    try:
        create_model("Value", __config__=_CONFIG, value=field).model_json_schema()  # type: ignore[call-overload]
    except PydanticUserError:
        return False
    return True


def holds_messages(kind: Any) -> bool:
    """Whether a type is, or holds, chat messages.

    Args:
        kind: A type, as an annotation has it.
    """
    if isinstance(kind, type) and issubclass(kind, BaseMessage):
        return True
    return any(holds_messages(part) for part in get_args(kind))
