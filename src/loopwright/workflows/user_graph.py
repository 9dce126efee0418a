"""A graph that somebody wrote is a workflow too: any LangGraph graph, with its input read off its schema."""

import dataclasses
import logging
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langgraph.channels.base import BaseChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from typing_extensions import ReadOnly

from loopwright.diagram.flowchart import caption, shown_nodes
from loopwright.engine import BoundedGraph, bounded
from loopwright.engine.bind import Builder
from loopwright.engine.gate import MESSAGES
from loopwright.engine.langgraph_private import keys
from loopwright.engine.proof.read import builder_of, subgraphs
from loopwright.errors import GraphError, InputError
from loopwright.models.validation import problem_lines
from loopwright.workflows.api import MULTILINE, NodeInfo, Outcome, Run, Workflow, WritingRun
from loopwright.workflows.runtime import Services
from loopwright.workflows.sections import WorkflowConfig

logger = logging.getLogger("loopwright.loops")

USUAL_LIMIT = 10
"""Passes of each loop that was chosen for a graph that declares none, where nothing else is said."""
MESSAGE = "message"
"""What a form asks for in place of a list of messages."""
CONTEXT = "context"
"""Where an input has what LangGraph calls the context of a run; beside a key of the state that is called so with
``runtime_`` before it."""

SCORES = frozenset("score scores quality grade grades rating ratings confidence accuracy faithfulness".split())
"""Last words of the state keys that say how good a result is: ``draft_score``, ``grades``."""

_LONGEST_MESSAGE = 100_000
_CONFIG = ConfigDict(arbitrary_types_allowed=True, extra="forbid")


class UserGraph(Workflow[Services[WorkflowConfig]]):
    """A graph that somebody wrote. Its own checkpointer is left alone: the host's takes its place."""

    streams_answer = True
    store: BaseStore
    """What a graph that was compiled without a store finds in its place; by default it lasts as long as the process."""

    def __init__(
        self,
        name: str,
        graph: StateGraph[Any, Any, Any, Any] | CompiledStateGraph[Any, Any, Any, Any],
        limit: int | None = None,
        place: str = "",
        title: str = "",
    ) -> None:
        """Bound the graph, unless it is bounded already.

        Args:
            name: Names it, in addresses too.
            graph: A ``StateGraph``, compiled or not, or what `loopwright.bounded` made.
            limit: Passes of each loop, for a graph that declares none; None takes `USUAL_LIMIT`.
            place: Where it was loaded from, as ``FILE.py:GRAPH``, for tests that are made of its runs.
            title: What people call it; by default its name.

        Raises:
            GraphError: If it is no graph, cannot be bounded, or is bounded already and a limit is given.
        """
        if limit is not None and isinstance(graph, BoundedGraph):
            raise GraphError(f"graph {name!r} is bounded already, by limits of its own: leave the limit away")
        self.name, self.place, self.title, self.store = name, place, title, InMemoryStore()
        self.given = graph
        """As it was given."""
        self._limit = USUAL_LIMIT if limit is None else limit
        super().__init__(Services(WorkflowConfig()))
        # Which model serves which node is the graph's own business.
        self.models = None
        compiled = self.graph(None)
        if chosen := ", ".join(_chosen(graph, compiled)):
            logger.warning(
                "graph %r declares no loops, so these were chosen, with at most %d passes each: %s. Declare them with "
                "loopwright.bounded to set limits and fallbacks of your own.", name, self._limit, chosen,
            )  # fmt: skip
        if not isinstance(compiled.builder.input_schema, type):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = compiled.builder.input_schema
            raise GraphError(f"the state of graph {name!r} has no keys to ask for: it should be a class, not {kind}")
        self.Input, self.messages, self._text = input_of(compiled.builder)
        self.asked_context = context_of(compiled)
        if self.asked_context.model_fields:
            self.context = CONTEXT if CONTEXT not in self.Input.model_fields else f"runtime_{CONTEXT}"
            asked: Any = (self.asked_context | None, Field(None, title="Context"))
            if any(field.is_required() for field in self.asked_context.model_fields.values()):
                asked = (self.asked_context, Field(title="Context"))
            self.Input = create_model("Input", __base__=self.Input, **{self.context: asked})
        self.nodes = {
            node: NodeInfo(label=caption(node)) for node in shown_nodes(compiled.topology()) if node not in (START, END)
        }
        self.state_schema = compiled.builder.state_schema
        self.allow = (compiled.builder.state_schema, compiled.builder.input_schema)

    def read(self, given: Mapping[str, Any]) -> BaseModel:
        """The input, checked; the fields of a context that is not given are named as those that are missing."""
        return super().read({self.context: {}, **given} if self.context else given)

    def require_no_path(self, given: Mapping[str, Any]) -> None:
        """Nothing: a graph that needs no class takes what its state says, paths too."""

    def build(self, services: Services[WorkflowConfig]) -> BoundedGraph:
        """Bound the graph, unless it is bounded already."""
        return self.given if isinstance(self.given, BoundedGraph) else bounded(self.given, limit=self._limit)

    def outcome(self, state: Mapping[str, Any]) -> Outcome:
        """What came of a run; what the state calls a score is one, and the first from 0 to 1 is the quality."""
        named = ((key, value) for key, value in state.items() if key.lower().rpartition("_")[2] in SCORES)
        found = ((key, value[-1] if isinstance(value, list) and value else value) for key, value in named)  # the newest
        scores = {
            key: float(value) for key, value in found if isinstance(value, int | float) and not isinstance(value, bool)
        }
        quality = next((score for score in scores.values() if 0 <= score <= 1), None)
        return super().outcome(state).model_copy(update={"scores": scores, "quality": quality})

    def start(self, given: BaseModel, uploads: Mapping[str, Path], run_id: str) -> dict[str, Any]:
        """What the graph is run with: what was given, and of an input schema apart from the state its defaults."""
        builder = self.graph(None).builder
        apart = builder.input_schema is not builder.state_schema
        usual = {key for key, value in given if apart and (value or isinstance(value, int | float))}
        values = {key: getattr(given, key) for key in (usual | given.model_fields_set) - {self.context}}
        if self.messages and (text := values.pop(self._text, None)) is not None:
            values = {self.messages: [HumanMessage(text)], **values}
        return values

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> Run:
        """Prepare a run; see `start`. In place of a text, chat messages may be given as the graph itself takes them."""
        several = given.get(self.messages) if self.messages else None
        written = isinstance(several, str) if self._text == self.messages else given.get(self._text) is not None
        if several is None or written:
            run = super().run(given, uploads, run_id)
            return _UserRun(given, run.graph_input, run.title, self)
        try:
            messages = convert_to_messages(several if isinstance(several, list) else [several])
        except (ValueError, NotImplementedError, TypeError) as error:
            raise InputError(f"the input of {self.name!r}: {self.messages} are no chat messages: {error}") from error
        said = next((message.text for message in reversed(messages) if message.text.strip()), "-")
        rest = {key: value for key, value in given.items() if key != self.messages}
        run = super().run({**rest, self._text: said[:_LONGEST_MESSAGE]}, uploads, run_id)
        return _UserRun(given, {**run.graph_input, self.messages: messages}, run.title, self)


class _UserRun(WritingRun):
    """One run."""

    texts = True

    def __init__(self, given: Mapping[str, Any], graph_input: Any, title: str, workflow: UserGraph) -> None:
        """Prepare a run; an `InputError` says what its context does not fit."""
        super().__init__(given, graph_input, title, workflow)
        self._workflow = workflow
        asked = given.get(workflow.context or "") or {}
        said = workflow.asked_context.model_validate(asked)
        values = {key: getattr(said, key) for key in said.model_fields_set}
        self._configured = {key: value for key, value in values.items() if key not in keys.RESERVED}
        self._context = None
        made: Any = workflow.graph(None).context_schema
        is_model = isinstance(made, type) and issubclass(made, BaseModel)  # which reads what was given by its aliases
        try:
            # Nothing makes sure of what a typed dict requires; nodes may do without a context then.
            if made and (values or not getattr(made, "__required_keys__", None)):
                self._context = made(**(asked if is_model else values))
        except Exception as error:
            if values:  # else its class makes none by itself
                problem = "; ".join(problem_lines(error)) if isinstance(error, ValidationError) else error
                raise InputError(f"the context of {workflow.name!r} does not fit: {problem}") from error

    def within(self, graph: BoundedGraph) -> BoundedGraph:
        """The graph with its context, which older graphs read from the configuration, and a store."""
        runtime = Runtime(context=self._context, store=graph.store or self._workflow.store)
        return graph.with_config(configurable={**self._configured, keys.CONFIG_KEY_RUNTIME: runtime})

    def onward(self, state: Mapping[str, Any]) -> Any:
        """Without the defaults of what earlier turns have written."""
        given = {*self.given, self._workflow.messages}
        return {key: value for key, value in self.graph_input.items() if key in given or key not in state}


def _chosen(graph: Any, compiled: Any, within: str = "") -> Iterator[str]:
    """The loops that were chosen for a graph, and for those that are its nodes, in words."""
    if isinstance(graph, BoundedGraph) or not isinstance(compiled, BoundedGraph):
        return
    for loop in compiled.loops:
        yield f"{within + loop.name!r} ({' and '.join(loop.sources)} -> {loop.target})"
    made = subgraphs(compiled.builder)
    for node, inner in subgraphs(builder_of(graph)).items():
        yield from _chosen(inner, made.get(node), f"{within}{node}/")


def input_of(builder: Builder) -> tuple[type[BaseModel], str | None, str]:
    """What a graph takes, as a model; the key whose list of chat messages stands there as the text of one; as which."""
    # A graph with one schema for everything names there what only its nodes write; then nothing can be asked for.
    whole = builder.schemas[builder.input_schema].keys() == builder.schemas[builder.state_schema].keys()
    required = () if whole else getattr(builder.input_schema, "__required_keys__", ())
    fields = {key: each for key, each in _fields(builder.input_schema, required).items() if key in builder.channels}
    lists = [key for key, (kind, _) in fields.items() if holds_messages(kind)]
    messages = MESSAGES if MESSAGES in lists else next(iter(lists), None)
    text = messages if messages and MESSAGE in fields else MESSAGE
    if messages:
        default = fields.pop(messages)[1]
        # Where anything else can be given, the graph may begin the conversation itself.
        needed = not fields or default is ... or (isinstance(default, FieldInfo) and default.is_required())
        asked: Any = Field(
            ... if needed else None,
            title="Message", min_length=1, max_length=_LONGEST_MESSAGE, json_schema_extra={"format": MULTILINE},
        )  # fmt: skip
        fields = {text: (str if needed else str | None, asked), **fields}
    return _model("Input", fields), messages, text


def context_of(graph: BoundedGraph) -> type[BaseModel]:
    """What may be said of a graph's context, as a model; its defaults, which may be secrets, are not shown."""
    fields: dict[str, Any] = {}
    with suppress(NameError):  # its annotations may be those of a type checker
        for key, (kind, info) in (_fields(graph.context_schema, ()) if graph.context_schema else {}).items():
            if isinstance(info, FieldInfo) and not info.is_required():
                kind, info = kind | None, copy(info)
                info.default = info.default_factory = None
            fields[key] = (kind, info)
    return _model("Context", fields)


def _model(name: str, fields: Mapping[str, tuple[Any, Any]]) -> type[BaseModel]:
    usable = {key: field if _has_schema(field) else (Any, field[1]) for key, field in fields.items()}
    with warnings.catch_warnings(action="ignore"):  # a key may be called as what pydantic's own class has
        return create_model(name, __config__=_CONFIG, **usable)  # type: ignore[call-overload]


def _fields(schema: type[Any], required: Collection[str]) -> dict[str, tuple[Any, Any]]:
    """Key -> type and default of everything that a schema names; what of a typed dict is required."""
    hints = get_type_hints(schema, include_extras=True)
    if issubclass(schema, BaseModel):
        return {name: (hints[name], field) for name, field in schema.model_fields.items()}
    if dataclasses.is_dataclass(schema):
        read = FieldInfo.from_annotated_attribute
        return {each.name: (hints[each.name], read(hints[each.name], each)) for each in dataclasses.fields(schema)}
    kinds = {key: without_marks(kind) for key, kind in hints.items()}
    return {key: (kind, ...) if key in required else (kind | None, None) for key, kind in kinds.items()}


def without_marks(kind: Any) -> Any:
    """A type without what only a typed dict can say of it, or a channel of LangGraph's."""
    marks = (NotRequired, ReadOnly, Required)
    while get_origin(kind) in marks or isinstance(getattr(kind, "__metadata__", (None,))[-1], BaseChannel):
        kind = get_args(kind)[0]
    return kind


def _has_schema(field: tuple[Any, Any | FieldInfo]) -> bool:
    with suppress(PydanticUserError):
        return bool(create_model("Value", __config__=_CONFIG, value=field).model_json_schema())  # type: ignore[call-overload]
    return False


def holds_messages(kind: Any, *, inside: bool = False) -> bool:
    """Whether a type is a list of chat messages, or what is `inside` of it is one."""
    origin = get_origin(kind)
    if origin is Annotated and any(mark is add_messages for mark in kind.__metadata__):
        return True
    if origin in (Annotated, Union, UnionType):
        return any(holds_messages(part, inside=inside) for part in get_args(kind))
    if inside:
        return isinstance(kind, type) and issubclass(kind, BaseMessage)
    is_list = isinstance(origin, type) and issubclass(origin, Sequence)
    return is_list and any(holds_messages(part, inside=True) for part in get_args(kind))
