"""What a host (the server, the run history) needs to know of a workflow to show it, run it, and keep what happened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import BaseModel, ConfigDict, Field

from loopwright.engine import BoundedGraph, RunEvent, RunResult
from loopwright.engine.diagram.shown import ShownGraph, shown_graph
from loopwright.engine.events import Told
from loopwright.models import ModelRegistry
from loopwright.models.prompts import PromptLibrary

UPLOAD = "loopwright-upload"
"""The ``format`` of a text in an input schema that takes the id of an uploaded file; the host gives its path in."""
LONGEST_TITLE = 120
"""Characters of a run's title."""
MULTILINE = "multiline"
"""The ``format`` of a text in an input schema for which a form has room for several lines."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NodeInfo(_Frozen):
    """What people are shown of a node."""

    label: str
    """What people call it."""
    icon: str = ""
    """An emoji, or nothing."""
    has_llm: bool = False
    """Whether it asks a chat model where one is configured."""
    prompt: str | None = None
    """The id of its prompt, or None without one."""
    description: str = ""
    """What it does, in a sentence."""


class Citation(_Frozen):
    """A source that an answer cites."""

    mark: str
    """How the answer's text refers to it, without brackets: ``1`` or a record's id."""
    title: str
    """The title of the source."""
    quote: str = ""
    """What it says, verbatim where it was quoted."""
    url: str | None = None
    """Its address on the web (http or https), if it has one."""
    details: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What else is known of it, in plain JSON: where and when a talk is, a page number."""


class Outcome(_Frozen):
    """How a run ended, in words that all workflows share."""

    answer: str = ""
    """The answer as Markdown; empty if there is none."""
    status: str = ""
    """How honest an end it is, in the workflow's own word, for example ``answered``, ``best_effort``."""
    citations: tuple[Citation, ...] = ()
    """What the answer cites, in its order."""
    quality: float | None = None
    """How good the answer is by the workflow's own measure, from 0 to 1; None if it was not judged."""
    scores: dict[str, float] = Field(default_factory=dict[str, float])
    """Further figures by name, for example ``faithfulness``."""
    details: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The workflow's own result in plain JSON."""
    error: str | None = None
    """What failed on the way, or None."""
    error_node: str | None = None
    """Where it failed, or None."""


class Example(_Frozen):
    """An input to try."""

    title: str
    """What it shows."""
    input: dict[str, Any]
    """The input, as the input schema has it."""


class RunChanges(_Frozen):
    """What one run does otherwise than its workflow as configured."""

    models: dict[str, str | None] = Field(default_factory=dict[str, "str | None"])
    """Node (or ``default``) -> the chat model's name, ``provider:name``; None for no model."""
    prompts: dict[str, int | str] = Field(default_factory=dict[str, "int | str"])
    """Prompt -> the version to use, or a text that is not kept as a version (a draft)."""


class ClientEvent(Protocol):
    """What a workflow's own clients see of a run, where that is not the engine's events: a tagged value."""

    @property
    def event(self) -> str:
        """The tag."""
        ...

    def model_dump_json(self, *, exclude: set[str]) -> str:
        """The value as JSON, without the fields named."""
        ...


@dataclass(frozen=True)
class Setting:
    """A context variable that holds a value while a run goes on."""

    variable: ContextVar[Any]
    """The variable."""
    value: Any
    """What it holds."""


class HostedRun:
    """One run of a hosted workflow: its input, and what is made of its events. The defaults suit any graph."""

    def __init__(self, given: Mapping[str, Any], graph_input: Any, title: str) -> None:
        """Prepare a run.

        Args:
            given: The input as it was given, valid, in plain JSON.
            graph_input: What the graph is run with.
            title: What a list of runs calls it, for example the question; put in one line and cut.
        """
        self.given = dict(given)
        self.graph_input = graph_input
        self.title = " ".join(title.split())[:LONGEST_TITLE]

    def settings(self) -> Sequence[Setting]:
        """Context variables to set while the run goes on."""
        return ()

    def told(self, event: RunEvent) -> Iterable[Told]:
        """What people are told when an event happens.

        Args:
            event: The engine's event, its values as the state has them.
        """
        return ()

    def client_events(self, event: RunEvent) -> Iterable[ClientEvent]:
        """What the workflow's own clients see of an event.

        Args:
            event: The engine's event, its values as the state has them.
        """
        return ()

    def plain(self, key: str, value: Any) -> Any:
        """A value of the state in plain JSON, as developers read it; the host redacts and shortens it afterwards.

        Args:
            key: Its key.
            value: The value.
        """
        return value

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        """The outcome of a run that ended, and the last events for the workflow's own clients.

        What is to be remembered of it (a conversation's turn) is kept here.

        Args:
            result: The final state, and the events since the start or the resume.
        """
        return Outcome(), ()

    def failed(self, error: BaseException) -> Sequence[ClientEvent]:
        """The last events for the workflow's own clients of a run that ended with an exception.

        Args:
            error: The exception.
        """
        return ()


class Hosted(ABC):
    """A workflow as a host sees it. One object serves any number of runs at the same time, in one event loop."""

    name: str
    """Names it, in addresses too: lower case, no spaces."""
    title: str
    """What people call it."""
    description: str
    """What it does, in a sentence or two."""
    input_schema: dict[str, Any]
    """JSON schema (an object) of what a run takes; texts with the format `UPLOAD` or `MULTILINE` where it fits."""
    examples: tuple[Example, ...] = ()
    """Inputs to try."""
    streams_answer: bool = False
    """Whether its answer comes in pieces, as `TextStreamed` events."""
    nodes: Mapping[str, NodeInfo]
    """Node -> what people are shown of it; nodes that are missing are called by their name."""
    prompts: PromptLibrary | None = None
    """Its prompts, or None if it has none that a host can change."""
    models: ModelRegistry | None = None
    """Which chat model serves which node, or None if a host cannot change that."""
    model_nodes: tuple[str, ...] = ()
    """The nodes that can have a chat model."""
    state_schema: type[Any] | None = None
    """The class of the graph's state, by which edited values are read back; None leaves them plain."""
    places: frozenset[str] = frozenset()
    """The keys of the state that name files of this machine; clients cannot set them."""
    allow: tuple[Any, ...] | None = None
    """What a checkpointer may bring back, as for ``open_checkpointer``; None leaves it to LangGraph."""

    @abstractmethod
    def graph(self, saver: BaseCheckpointSaver[str] | None) -> BoundedGraph:
        """The graph. Within a run whose models are changed (see `loopwright.models.changes`), as it is with these.

        Args:
            saver: Where its runs are kept; the same graph is given for the same saver.
        """

    @abstractmethod
    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> HostedRun:
        """Prepare a run.

        Args:
            given: The input, as `input_schema` has it.
            uploads: Id of an uploaded file -> where it lies.
            run_id: Names the run.

        Raises:
            InputError: If the input is unusable; the message says what would be.
        """

    def shown(self) -> ShownGraph:
        """The graph as pages show it, with what `nodes` says of its nodes."""
        graph = shown_graph(self.graph(None))
        nodes = [
            node.model_copy(update=self.nodes[node.name].model_dump()) if node.name in self.nodes else node
            for node in graph.nodes
        ]
        return graph.model_copy(update={"nodes": tuple(nodes)})

    def recovered(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> HostedRun:
        """Prepare to go on with a run that was begun earlier, maybe by another process; see `run`."""
        return self.run(given, uploads, run_id)

    def close(self) -> None:
        """Close what was opened here."""
        return
