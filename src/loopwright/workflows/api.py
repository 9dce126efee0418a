"""What a workflow is to all that runs, shows, serves or measures one: a class with eight things in it.

A workflow subclasses `Workflow` and says what it takes (`Workflow.Input`), how it is configured (`Workflow.Config`),
how its graph is built (`Workflow.build`), what people are shown of its nodes (`Workflow.nodes`), and what came of a run
(`Workflow.outcome`). The options of the command line, the body of a request, its checks and the page's form derive
from the input; `loopwright.workflows.registry` finds the class by an entry point.
"""

from __future__ import annotations

import dataclasses
import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Protocol, Self, cast

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END
from pydantic import BaseModel, Field, StringConstraints, ValidationError
from pydantic_core import to_jsonable_python
from typing_extensions import TypeVar

from loopwright.config import Frozen
from loopwright.diagram.flowchart import caption
from loopwright.diagram.shown import NodeInfo, ShownGraph, shown_graph
from loopwright.engine import BoundedGraph, RunEvent, RunResult
from loopwright.engine import astream as engine_astream
from loopwright.engine.events.schema import NodeFinished, RunFinished, TextStreamed, Told, afollowing, holding
from loopwright.engine.gate import DISPATCHER
from loopwright.engine.ledger import STOP_REASON
from loopwright.engine.nodes.fallback import FALLBACK
from loopwright.engine.nodes.redact import redacted
from loopwright.engine.proof.read import NEEDED_KEYS
from loopwright.errors import ConfigError, GraphError, InputError, LoopwrightError, unknown_name_message
from loopwright.models import ModelRegistry, UsageRecorder
from loopwright.models.prompts import PromptLibrary
from loopwright.models.usage import usage_of_the_run
from loopwright.models.validation import problem_lines
from loopwright.workflows.runtime import Services, Session, configured, prices
from loopwright.workflows.sections import WorkflowConfig

if TYPE_CHECKING:
    from loopwright.workflows.evaluation.questions import Expected

UPLOAD = "loopwright-upload"
"""The ``format`` of a text in an input schema that takes the id of an uploaded file; the host gives its path in."""
LONGEST_TITLE = 120
"""Characters of a run's title."""
MULTILINE = "multiline"
"""The ``format`` of a text in an input schema for which a form has room for several lines."""

MOST_GRAPHS = 16
"""How many graphs of a workflow are kept, one for each saver and each assignment of models."""

S = TypeVar("S", bound=Services[Any], default=Services[Any])
LONGEST_TEXT = 10_000
"""Characters of a question; a longer one is more likely a document."""

Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT),
    Field(json_schema_extra={"format": MULTILINE}),
]
"""A text that asks something, for which a form has room for several lines."""
Upload = Annotated[str, Field(json_schema_extra={"format": UPLOAD})]
"""A file: over HTTP the id of an uploaded one, on the command line its path."""
_ANSWER = re.compile("(?i)(?:final_)?answer")
_PATH = re.compile(r"'format': '(?:file-|directory-)?path'")
_PASSWORD = re.compile(r"'format': 'password'|'writeOnly': True")


def schema_of(model: type[BaseModel], *, by_alias: bool = True) -> dict[str, Any]:
    """The JSON schema of an input, an object; one that contains itself is described among its definitions alone."""
    schema = model.model_json_schema(by_alias=by_alias)
    itself = schema.get("$defs", {}).get(schema.get("$ref", "").rpartition("/")[2], {})
    return {"properties": {}, **itself, **schema}


def upload_fields(model: type[BaseModel], *, by_alias: bool = True) -> list[str]:
    """The fields of an input that take a file, or perhaps one."""
    fields: dict[str, dict[str, Any]] = schema_of(model, by_alias=by_alias)["properties"]
    kinds = {name: (field, *field.get("anyOf", ())) for name, field in fields.items()}
    return [name for name, of_it in kinds.items() if any(kind.get("format") == UPLOAD for kind in of_it)]


def fields_of_format(model: type[BaseModel], sought: re.Pattern[str]) -> frozenset[str]:
    """The fields of an input that hold something of a format, at any depth, by their names and their aliases."""
    found: list[str] = []
    for by_alias in (False, True):
        schema = schema_of(model, by_alias=by_alias)
        for name, field in schema["properties"].items():
            parts = [str(field)]
            for said in parts:  # what it refers to comes behind it
                parts += {str(of) for key, of in schema.get("$defs", {}).items() if f"/{key}'" in said} - {*parts}
            found += [name for said in parts if sought.search(said)]
    return frozenset(found)


def _names_path(value: Any, default: Any = None) -> bool:
    """Whether a value holds a path that somebody gave; what stands there by default is nobody's word."""
    if isinstance(value, PurePath):
        return value != default
    usual: dict[str, Any] = {}
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        usual = {name: fields[name].default for name in value.model_fields_set & fields.keys()}
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        usual = {each.name: each.default for each in dataclasses.fields(value)}
    if usual:
        return any(_names_path(getattr(value, name), getattr(default, name, its)) for name, its in usual.items())
    parts: Any = value.values() if isinstance(value, Mapping) else value
    return any(map(_names_path, parts)) if isinstance(value, Mapping | list | tuple | set | frozenset) else False


class WorkflowInput(Frozen):
    """What a run takes. The description of a field is what its option and its place in the form say."""


class Citation(Frozen):
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


class Outcome(Frozen):
    """How a run ended, in words that all workflows share."""

    answer: str = ""
    """The answer as Markdown; empty if there is none."""
    status: str = ""
    """How honest an end it is, in the workflow's own word, for example ``answered``, ``best_effort``."""
    citations: tuple[Citation, ...] = ()
    """What the answer cites, in its order."""
    evidence: tuple[Citation, ...] = ()
    """What else was found that bears on the question, nearest first."""
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


class Example(Frozen):
    """An input to try."""

    title: str
    """What it shows."""
    input: dict[str, Any]
    """The input, as the input schema has it."""


class RunChanges(Frozen):
    """What one run does otherwise than its workflow as configured."""

    models: dict[str, str | None] = Field(default_factory=dict[str, "str | None"])
    """Node (or ``default``) -> the chat model's name, ``provider:name``; None for no model."""
    prompts: dict[str, int | str] = Field(default_factory=dict[str, "int | str"])
    """Prompt -> the version to use, or a text that is not kept as a version (a draft)."""
    pause_before: tuple[str, ...] = ()
    """Nodes before which it stops until it is resumed; ``*`` for every one."""
    pause_after: tuple[str, ...] = ()
    """Nodes after which it does."""


class ClientEvent(Protocol):
    """What a workflow's own clients see of a run, where that is not the engine's events: a tagged value."""

    @property
    def event(self) -> str:
        """The tag."""
        ...

    def model_dump_json(self, *, exclude: set[str]) -> str:
        """The value as JSON, without the fields named."""
        ...


@dataclasses.dataclass(eq=False)
class Run:
    """One run of a workflow: its input, and what is made of its events. The defaults suit any graph."""

    texts: ClassVar[bool] = False
    """Whether all that chat models write in it is told as `TextStreamed`: for nodes that tell nothing themselves."""
    given: Mapping[str, Any]
    """The input as it was given, valid, in plain JSON."""
    graph_input: Any
    """What the graph is run with."""
    title: str
    """What a list of runs calls it, for example the question; put in one line and cut."""
    workflow: Workflow[Any] | None = None
    """Whose run it is."""
    usage: UsageRecorder = dataclasses.field(default_factory=lambda: UsageRecorder(prices()), init=False)
    """What its model calls use."""

    def __post_init__(self) -> None:
        self.given = dict(self.given)
        self.title = " ".join(self.title.split())[:LONGEST_TITLE]

    @property
    def identity(self) -> Mapping[str, Any]:
        """What tells it from runs that asked something else, in plain JSON."""
        return self.given

    def within(self, graph: BoundedGraph) -> BoundedGraph:
        """The workflow's graph as this run has it."""
        return graph

    def onward(self, state: Mapping[str, Any]) -> Any:
        """What the graph is run with as a further turn, where earlier ones left this state."""
        return self.graph_input

    def replay(self, event: RunEvent) -> None:
        """Take in an event of before it was resumed, as it was kept, its values in plain JSON."""

    def told(self, event: RunEvent) -> Iterable[Told]:
        """What people are told when an event of the engine's happens, its values as the state has them."""
        return ()

    def client_events(self, event: RunEvent) -> Iterable[ClientEvent]:
        """What the workflow's own clients see of an event of the engine's, its values as the state has them."""
        return ()

    def plain(self, key: str, value: Any) -> Any:
        """A value of the state in plain JSON, as developers read it; the host redacts and shortens it afterwards."""
        return value

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        """The outcome of a run that ended, and the last events for the workflow's own clients.

        The result's events are those since the start or the resume. What is to be remembered (a turn) is kept here.
        """
        outcome = self.workflow.outcome(result.state) if self.workflow else Outcome()
        if not isinstance(outcome, Outcome):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"`outcome` of the workflow gave {outcome!r}, which is no Outcome")
        return outcome, ()

    def failed(self, error: BaseException) -> Sequence[ClientEvent]:
        """The last events for the workflow's own clients of a run that ended with an exception."""
        return ()


class WritingRun(Run):
    """A run of a workflow that does not say what came of it: what it was given and left as it was is no answer."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._saying: dict[str, str] = {}
        """Task of a visit, or node where that is not known -> what a model says in it."""
        self._said: set[str] = set()
        """What models said."""
        self._keys: dict[str, str] = {}
        """The keys that nodes wrote, that written last the last -> the node that wrote a text there, if it did."""

    def replay(self, event: RunEvent) -> None:
        """Note what was said and written."""
        if isinstance(event, TextStreamed):
            visit = [event.node, *event.tasks][-1]
            self._saying[visit] = self._saying.get(visit, "") + event.text
        elif isinstance(event, NodeFinished):
            self._said |= {self._saying.pop(visit, "").strip() for visit in (event.task_id, event.node)}
            # Of what one visit wrote, the words themselves are the answer, and not what was made of them beside it.
            texts = {key: "".join(_texts(key, value)).strip() for key, value in event.update.items()}
            for key in sorted(texts, key=lambda key: texts[key] in self._said):
                self._keys.pop(key, None)
                self._keys[key] = event.node if texts[key] else ""

    def told(self, event: RunEvent) -> Iterable[Told]:
        """Nothing, but it is noted."""
        self.replay(event)
        return ()

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        """What the run wrote, the answer last: of the texts one of a fallback's, else called so, else of a model's."""
        for event in () if self._keys else result.events:  # nobody told it of them
            self.replay(event)
        given = cast("Mapping[str, Any]", self.graph_input if isinstance(self.graph_input, Mapping) else {})
        texts = {key: _texts(key, value, given.get(key)) for key, value in result.state.items()}
        written = [key for key in self._keys if key in texts]  # if it went on from another's state, since then
        unchanged = [key for key, value in result.state.items() if _same(value, given.get(key))]
        lists = [key for key in written if not isinstance(result.state[key], str) and _texts("", result.state[key])]
        said = self._said.union(text.strip() for key in lists for text in texts[key])
        # A grade or a label can stand in any text by chance; Thai, Chinese and Japanese have no spaces.
        long = [each for each in said if len(each.split()) > 1 or sum(letter >= "\u0e00" for letter in each) > 4]
        last_words = _last_words(cast("Workflow[Any]", self.workflow).graph(None))

        def late(key: str) -> tuple[bool, ...]:
            text = "".join(texts[key][-1:])
            spoken = text.strip() in said or any(each in text for each in long)
            named, ended = bool(_ANSWER.fullmatch(key)), self._keys.get(key) in last_words
            return key in written, key not in unchanged, ended, named, key in lists and bool(text), spoken

        keys = sorted([*(key for key in texts if key not in (*written, *unchanged)), *written], key=late)
        outcome, events = await super().ended(RunResult({key: result.state[key] for key in keys}, result.events))
        answers = [texts[key][-1] for key in keys if key in outcome.details and "".join(texts[key][-1:]).strip()]
        return outcome.model_copy(update={"answer": "".join(answers[-1:])}), events


def _last_words(graph: BoundedGraph) -> set[str]:
    """The nodes behind which a run ends, and to which only a bound leads, or which are of `loopwright.fallbacks`."""
    edges = graph.topology().edges
    found = {edge.target for edge in edges if edge.kind == "exhausted" or edge.source == DISPATCHER}
    others = {edge.target for edge in edges if edge.kind != "exhausted" and edge.source != DISPATCHER}
    found -= others - {FALLBACK}  # to which a router may seem to lead whose ends nobody knows
    found |= {node for node, spec in graph.builder.nodes.items() if hasattr(spec.input_schema, NEEDED_KEYS)}
    return found - {edge.source for edge in edges if edge.target != END}


def _texts(key: str, value: Any, given: Any = None) -> list[str]:
    """A text, or those of the AI messages in a value, behind the message that was given last; JSON of an answer."""
    if isinstance(value, str):
        return [value]
    parts, asked = (cast("list[Any]", each if isinstance(each, list) else [each]) for each in (value, given))
    last = [(each.type, each.content, each.name) for each in asked[-1:] if isinstance(each, BaseMessage)]
    messages = [each for each in parts if isinstance(each, BaseMessage)]
    if _ANSWER.fullmatch(key) and not messages and (plain := plain_json(value)) not in (None, [], {}):
        return [plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)]
    first = max((at for at, each in enumerate(messages, 1) if (each.type, each.content, each.name) in last), default=0)
    return [each.text for each in messages[first:] if isinstance(each, AIMessage) and each.text.strip()]


def _same(value: Any, given: Any) -> bool:
    try:
        return bool(value == given)
    except Exception:  # arrays and tables compare item by item, with no one truth
        return value is given


def _telling(value: Any, uploads: Container[str], deep: int = 0) -> Any:
    """What of an input tells a run from others: without ``***``, uploads and gaps, all cut; None for nothing."""
    if isinstance(value, str):
        return None if value == "***" or value in uploads else value.strip()[:LONGEST_TITLE] or None
    if not isinstance(value, dict | list):
        return value
    items = islice(value.items() if isinstance(value, dict) else enumerate(value), LONGEST_TITLE >> deep)
    told = {key: part for key, item in items if (part := _telling(item, uploads, deep + 1)) is not None}
    return (told if isinstance(value, dict) else [*told.values()]) or None


def plain_json(value: Any) -> Any:
    """A value in plain JSON, chat messages as LangChain writes them; what cannot be said so as text."""
    with suppress(ValueError):
        return to_jsonable_python(value, fallback=str, bytes_mode="base64", inf_nan_mode="null")
    return str(value)


class Workflow(ABC, Generic[S]):
    """A workflow: the class says what it is, an object of it is opened, and serves any number of runs at once."""

    name: str = ""
    """Names it, in addresses too: lower case, no spaces. The entry point's name where the class has none."""
    title: str = ""
    """What people call it; by default its name."""
    description: str = ""
    """What it does, in a sentence or two."""
    Input: type[BaseModel] = WorkflowInput
    """What a run takes: its fields are the options, the request's body and the form."""
    Config: ClassVar[type[WorkflowConfig]] = WorkflowConfig
    """Its configuration, with a section that is called as the workflow."""
    Services: ClassVar[type[Any]] = Services
    """What its nodes need besides the state; see `loopwright.workflows.runtime.Services`."""
    nodes: Mapping[str, NodeInfo] = {}
    """Node -> what people are shown of it; nodes that are missing are called by their name."""
    examples: Sequence[Example] = ()
    """Inputs to try."""
    samples: Mapping[str, Path] = {}
    """Files to try it on: what an input calls one -> where it lies."""
    streams_answer: bool = False
    """Whether its answer comes in pieces, as `TextStreamed` events."""
    prompts: PromptLibrary | None = None
    """Its prompts, or None if it has none that a host can change."""
    models: ModelRegistry | None = None
    """Which chat model serves which node, or None if a host cannot change that."""
    model_nodes: tuple[str, ...] = ()
    """The nodes that can have a chat model; where a class does not say, those of `nodes` that ask one."""
    state_schema: type[Any] | None = None
    """The class of the graph's state, by which edited and kept values are read back; None leaves them plain."""
    context: str | None = None
    """The field of the input that is no part of the state: what LangGraph calls the context of a run."""
    places: frozenset[str] = frozenset()
    """The keys of the state that name files of this machine; clients cannot set them."""
    allow: tuple[Any, ...] | None = None
    """What a checkpointer may bring back, as for ``open_checkpointer``; None leaves it to LangGraph."""
    routes: ClassVar[str | None] = None
    """Addresses of its own: ``module:router``, imported by the server alone."""
    expected: tuple[str, ...] = ()
    """What the ``expected`` of an evaluation's questions may hold for `score`, beside answers, citations and status."""
    file_routes: ClassVar[tuple[str, ...]] = ()
    """Those of them whose requests bring several documents."""
    schemas: Mapping[str, Any] = {}
    """Name -> type of what its own clients' streams hold, for the description of the server."""

    def __init__(self, services: S) -> None:
        """Prepare; no graph is made and nothing is opened yet. What its nodes need is closed by `close`."""
        self.services = services
        """What its nodes need besides the state."""
        self.models = services.models
        files = frozenset(upload_fields(self.Input, by_alias=False))
        if str(self.Input.model_json_schema()).count(UPLOAD) > len(files):
            raise TypeError(
                f"the input of {self.name!r} holds a file in a list or section: give each a field of its own"
            )
        if self.name and not self.title:
            self.title = caption(self.name.replace("-", " "))
        self._paths, self._passwords = (fields_of_format(self.Input, sought) for sought in (_PATH, _PASSWORD))
        self.places = (self.places or files) | self._paths
        self._graphs = lru_cache(MOST_GRAPHS)(self._made)
        self._making = threading.Lock()

    def __init_subclass__(cls, **options: Any) -> None:
        """Read off what a class need not say twice."""
        super().__init_subclass__(**options)
        if "nodes" in cls.__dict__ and "model_nodes" not in cls.__dict__:
            cls.model_nodes = tuple(node for node, info in cls.nodes.items() if info.has_llm)
        if not {*cls.model_nodes} <= {*cls.Config.model_nodes}:
            nodes = tuple(dict.fromkeys((*cls.Config.model_nodes, *cls.model_nodes)))
            cls.Config = type("Config", (cls.Config,), {"model_nodes": nodes, "__module__": __name__})
        new = cls.allow is None or "state_schema" in cls.__dict__
        if cls.state_schema and "allow" not in cls.__dict__ and new:
            cls.allow = (*(cls.allow or ()), cls.state_schema)

    @classmethod
    def open(cls, config: str | Path | None = None, overrides: Mapping[str, Any] | None = None) -> Self:
        """Open it as it is configured; what is opened lazily is closed with `close`.

        Args:
            config: The file of the configuration, as for `EngineConfig.load`.
            overrides: Values by dotted key over the file's.

        Raises:
            ConfigError: If the configuration is wrong.
            LoopwrightError: If what it needs cannot be opened.
        """
        try:
            loaded = cls.Config.load(config, overrides, own=cls.name)
        except ValueError as error:  # of a class's own `load`
            if isinstance(error, LoopwrightError):
                raise
            raise ConfigError(str(error)) from error
        return cls(cls.Services.of(loaded))

    @abstractmethod
    def build(self, services: S) -> BoundedGraph:
        """Make the graph with its loops, with the models that its nodes have now, without a saver."""

    def start(self, given: Any, uploads: Mapping[str, Path], run_id: str) -> Any:
        """What the graph is run with; by default the input as a mapping, without what is None, files as their paths.

        Args:
            given: The input, an `Input`.
            uploads: Id of an uploaded file -> where it lies.
            run_id: Names the run.

        Raises:
            InputError: If there is no such file.
        """
        values = given.model_dump(exclude_none=True)
        files = [key for key in upload_fields(self.Input, by_alias=False) if values.get(key)]
        return values | {key: str(self.placed(key, values[key], uploads)) for key in files}

    def placed(self, key: str, named: str, uploads: Mapping[str, Path]) -> Path:
        """Where a file lies that a field of the input names: an upload by its id, or a sample; else an `InputError`."""
        found = uploads.get(named) or self.samples.get(named)
        if found is None:
            others = "".join(f", or {sample}" for sample in self.samples)
            raise InputError(
                f"{key} is {named!r}, and there is no such file: give a path, over HTTP the id of an upload{others}"
            )
        return found

    def outcome(self, state: Mapping[str, Any]) -> Outcome:
        """What came of a run: by default the last word of a model in the state; a `WritingRun` looks closer."""
        builder = self.graph(None).builder
        output = builder.schemas[builder.output_schema]
        details = {key: value for key, value in state.items() if key in output and key != STOP_REASON}
        by_models_last = sorted(details.items(), key=lambda item: (_texts("", item[1]) != [], type(item[1]) is not str))
        texts = [text for key, value in by_models_last for text in _texts(key, value) if text.strip()]
        try:
            plain = to_jsonable_python(details, fallback=str, inf_nan_mode="null")
        except ValueError:  # there are bytes that are no text
            plain = {key: plain_json(value) for key, value in details.items()}
        return Outcome(answer="".join(texts[-1:]), details=plain)

    def uncitable(self, names: Sequence[str]) -> Sequence[str]:
        """Those of the citations that an evaluation expects which this workflow can never make, as far as it knows."""
        return ()

    def score(self, expected: Expected, outcome: Outcome) -> Mapping[str, float | None]:
        """Further scores of an outcome in an evaluation, or those in place of what can be said without knowing it.

        They stand by name, most of them from 0 to 1; None where the question has none.
        """
        return {}

    def rated(self, expected: Expected, outcome: Outcome) -> tuple[float, Mapping[str, float]] | None:
        """What people gave, and by name the numbers of an outcome that are to rise with it, for rank correlations.

        None where nobody gave any.
        """
        return None

    def graph(self, saver: BaseCheckpointSaver[str] | None) -> BoundedGraph:
        """The graph, the same for the same saver of its runs; in one with models of its own, as it is with these."""
        # With other models a node has other retries, timeouts and bounds.
        assigned = tuple(self.models.models_of(node) for node in self.model_nodes) if self.models else ()
        with self._making:
            return self._graphs(saver, assigned)

    def _made(self, saver: BaseCheckpointSaver[str] | None, assigned: tuple[tuple[str, ...], ...]) -> BoundedGraph:
        graph = self.build(self.services)
        if not isinstance(graph, BoundedGraph):  # pyright: ignore[reportUnnecessaryIsInstance]
            made = f"{type(self).__name__}.build gave a {type(graph).__name__}"
            raise GraphError(f"{made}: have it give what `loopwright.bounded` makes of that")
        return configured(graph, self.services.config).copy({"checkpointer": saver})

    def read(self, given: Mapping[str, Any]) -> BaseModel:
        """The input, given in plain JSON, checked: an `InputError` says what is wrong with it."""
        try:
            return self.Input.model_validate(dict(given))
        except ValidationError as error:
            fields = self.input_schema["properties"]
            problem = f"{'; '.join(problem_lines(error))}. It takes: {', '.join(fields)}."
            strange = [key for key in given if key not in fields]
            if strange and self.Input.model_config.get("extra") == "forbid":
                problem = unknown_name_message("key", str(strange[0]), fields)
            raise InputError(f"the input of {self.name!r} does not fit: {problem}") from None

    def require_no_path(self, given: Mapping[str, Any]) -> None:
        """Raise an `InputError` if a client gives a path of this machine, at any depth, other than the default."""
        refused = list[str]()
        try:
            read = self.Input.model_validate(dict(given))
        except ValidationError as error:  # what lies on this machine is told to nobody
            refused += [str(each["loc"][0]) for each in error.errors() if {*each["loc"][:1]} & self._paths]
        else:
            for name, field in type(read).model_fields.items():
                value = getattr(read, name)
                text = isinstance(value, str) and name in self._paths and value != field.default
                if name in read.model_fields_set and (text or _names_path(value, field.default)):
                    refused.append(field.alias if field.alias and field.alias in given else name)
        if refused:
            raise InputError(f"{refused[0]} is a path of the machine that serves: give it on the command line")

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> Run:
        """Prepare a run of an input, as `input_schema` has it; the rest is as for `start`.

        Raises:
            InputError: If the input is unusable; the message says what would be.
        """
        read = self.read(given)
        told = {key: given[key] for key in given if key not in self._passwords}
        shown = _telling(redacted(_telling(told, uploads)), uploads) or {}  # an input may be large: it is cut first
        no_text = json.dumps(plain_json(shown), ensure_ascii=False) if shown else self.title
        keys = ("message", "question", "query", "prompt", "input")  # as the page takes them
        asked = (each for key in keys if isinstance(each := shown.get(key), str))
        title = next(asked, max((each for each in shown.values() if isinstance(each, str)), key=len, default=no_text))
        kind = WritingRun if type(self).outcome is Workflow.outcome else Run
        return kind(given, self.start(read, uploads, run_id), title, self)

    def recovered(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> Run:
        """Prepare to go on with a run that was begun earlier, maybe by another process; see `run`."""
        return self.run(given, uploads, run_id)

    def session(self, run: Run, **options: Any) -> Session:
        """A run outside of a server, kept as the configuration says; its options are those of `Session`."""
        graph, config = run.within(self.graph(None)), self.services.config
        return Session(graph, config, run.graph_input, run.identity, self.allow, **options)

    async def follow(self, run: Run, **options: Any) -> AsyncIterator[RunEvent | RunResult]:
        """Run to the end outside of a server, with the options of `session`: give what happens, last the result."""
        with self.session(run, **options) as session:
            events: list[RunEvent] = []
            stream = engine_astream(session.graph, session.input, texts=run.texts, **session.options)
            async with aclosing(afollowing(stream, partial(holding, usage_of_the_run, run.usage))) as counted:
                async for event in counted:
                    events.append(event)
                    yield event
            finished = next(event for event in reversed(events) if isinstance(event, RunFinished))
            yield self.ended(RunResult(finished.state, tuple(events)))

    def ended(self, result: RunResult) -> RunResult:
        """The result of a run that nobody can be asked about: an `InputError` if it stopped to ask a person."""
        if any(isinstance(event, RunFinished) and event.interrupted for event in result.events[-1:]):
            told = f"start `loopwright serve {getattr(self, 'place', '') or self.name}`, and answer on its page"
            raise InputError(f"{self.name!r} stopped to ask a person, whom nobody asks here: {told}")
        return result

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema (an object) of what a run takes, with the formats `UPLOAD` and `MULTILINE` where they fit."""
        return schema_of(self.Input)

    def shown(self) -> ShownGraph:
        """The graph as pages show it, with what `nodes` says of its nodes."""
        graph = shown_graph(self.graph(None))
        nodes = [
            node.model_copy(update=self.nodes[node.name].model_dump()) if node.name in self.nodes else node
            for node in graph.nodes
        ]
        return graph.model_copy(update={"nodes": tuple(nodes)})

    def holds(self) -> int | None:
        """How many documents it answers from, 0 if it cannot answer without some; None where it needs none."""
        return None

    def warm_up(self) -> None:
        """Make now what the first run would wait for."""
        self.graph(None)

    @classmethod
    def __loopwright_graph__(cls) -> BoundedGraph:
        """The graph as it ships, for ``loopwright check`` and ``graph show``; nothing is opened."""
        return cls(cls.Services.of(cls.Config())).graph(None)

    def close(self) -> None:
        """Close what was opened here."""
        self.services.close()
