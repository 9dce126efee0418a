"""What is kept of runs, and what is told of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from loopwright.config import Frozen
from loopwright.engine.events.schema import RunEvent
from loopwright.workflows.api import Outcome, RunChanges
from loopwright.workflows.evaluation.results import EvaluatedAnswer, Figure

RunStatus = Literal["queued", "running", "finished", "failed", "cancelled", "interrupted", "waiting"]
"""``queued``: it waits its turn. ``interrupted``: its process ended before it did; it can be resumed. ``waiting``: for
a person's answer."""

ENDED: frozenset[RunStatus] = frozenset({"finished", "failed", "cancelled", "interrupted", "waiting"})
"""Nothing more happens in such a run by itself."""

RESUMABLE: frozenset[RunStatus] = frozenset({"failed", "cancelled", "interrupted", "waiting"})
"""Such a run can go on from its last checkpoint."""

Channel = Literal["run", "client"]
"""The engine's events, or those that the workflow's own clients see; numbered apart."""


@dataclass(frozen=True)
class RunLimits:
    """How much runs may hold, together and each."""

    running: int = 100
    """Runs at the same time; further ones wait their turn, in the order in which they came."""
    queued: int = 10_000
    """Runs that wait their turn; a further one is refused."""
    seconds: float = 900.0
    """The longest that a run may take; a resumed one begins anew."""
    events: int = 20_000
    """Events of one run, in each of its channels."""
    event_bytes: int = 32 * 2**20
    """Characters of JSON of one run's events, in each of its channels."""
    keep_alive: float = 15.0
    """Seconds without an event after which a comment is sent, so that nothing on the way takes the connection for
    dead."""


class Parent(Frozen):
    """Where a run that was forked comes from."""

    run_id: str
    """The run that it was forked from."""
    checkpoint_id: str
    """The checkpoint of that run."""
    step: int
    """That checkpoint's superstep."""
    kind: Literal["fork", "counterfactual", "turn"]
    """Changed by a person, the same without a loop's passes, or the next turn of a conversation, with new input."""
    loop: str | None = None
    """The loop whose passes were left out, of a counterfactual."""
    kept: int = 0
    """Passes of that loop that stayed: those behind them were left out."""
    edited: tuple[str, ...] = ()
    """The keys of the state that were edited."""
    passes: dict[str, int] = Field(default_factory=dict[str, int])
    """Loop -> passes that its ledger had spent at the checkpoint; the fork goes on with them."""
    nodes: tuple[str, ...] = ()
    """The nodes that had run by then."""
    thread: str | None = None
    """The first of the runs that go on from one another; it may not be kept any more."""


class Asked(Frozen):
    """A question that a run put to a person with ``interrupt``."""

    node: str
    """The node that asked."""
    value: Any
    """What was given to ``interrupt``, in plain JSON."""
    id: str
    """Names it; where several wait, an answer is a mapping of these to values."""


class Frame(Frozen):
    """A place in the code that an error passed."""

    file: str
    """The file, from where the process began; of one elsewhere its name alone."""
    line: int
    """The line."""
    function: str
    """The function."""
    first: int
    """The line with which `code` begins."""
    code: tuple[str, ...]
    """The lines around; none where they cannot be read."""


class UsageRow(Frozen):
    """What one node asked of one model."""

    node: str | None
    """The node, if it is known."""
    model: str
    """The model."""
    calls: int
    """Calls, the failed ones too."""
    input_tokens: int
    """Tokens of the prompts; a lower bound where `unmetered_calls` is not 0."""
    output_tokens: int
    """Tokens of the replies; a lower bound where `unmetered_calls` is not 0."""
    unmetered_calls: int = 0
    """Calls whose tokens are unknown."""
    cost: float | None = None
    """The price in US dollars; None if it is not known."""


class LoopPasses(Frozen):
    """What one loop did in one run."""

    loop: str
    """The loop."""
    passes: int
    """Passes granted."""
    limit: int | None
    """The limit in force, as far as the loop was asked; None if it never was."""
    refused: Literal["exhausted", "stalled", "over_budget"] | None = None
    """Why a further pass was refused last; None if none was."""
    seconds: float = 0.0
    """Wall time from each granted pass to the next decision of any loop, or to the end."""
    tokens: int = 0
    """Tokens within that time."""
    cost: float | None = None
    """Price in US dollars within that time; None if it is not known."""


MOST_TAGS = 20
"""Tags of one run."""

Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60, pattern=r"^[^\x00-\x1f]*$")]
"""What people call runs that belong together, for example ``baseline``."""


class RunSummary(Frozen):
    """A run in a list."""

    id: str
    """Names it."""
    workflow: str
    """The workflow's name."""
    title: str
    """What it is about, for example the question."""
    status: RunStatus
    """Whether it goes on, and else how it ended."""
    outcome_status: str = ""
    """How honest an end it is, in the workflow's own word; empty before the end."""
    stop_reason: str | None = None
    """The loop or budget whose bound was reached, or None."""
    started_at: datetime
    """When it was asked for, UTC."""
    ended_at: datetime | None = None
    """When it ended, UTC."""
    seconds: float | None = None
    """Time over the events of its log, of a resumed run of all its parts: without that in which it stood still,
    what a shutdown cut off, and what its outcome took."""
    model_calls: int = 0
    """Calls of chat models."""
    tokens: int = 0
    """Tokens of these calls, in and out; a lower bound where `unmetered_calls` is not 0."""
    unmetered_calls: int = 0
    """Calls whose tokens are unknown."""
    cost: float | None = None
    """Their price in US dollars; None if it is not known."""
    quality: float | None = None
    """How good the answer is by the workflow's own measure, from 0 to 1."""
    passes: dict[str, int] = Field(default_factory=dict[str, int])
    """Loop -> passes granted."""
    events: int = 0
    """Events of the channel ``run`` so far."""
    asked: tuple[Asked, ...] = ()
    """What waits for a person's answer."""
    parent: Parent | None = None
    """Where it was forked from, if it was."""
    tags: Annotated[tuple[Tag, ...], Field(max_length=MOST_TAGS)] = ()
    """What people call it, in order."""


class RunRecord(RunSummary):
    """A run with all that is known of it but its events."""

    input: dict[str, Any]
    """The input, as the workflow's input schema has it, without secrets."""
    changes: RunChanges = RunChanges()
    """What it did otherwise than the workflow as configured."""
    outcome: Outcome | None = None
    """How it ended, if it did."""
    error: str | None = None
    """What went wrong, of a run that failed or was interrupted; or why one that is queued waits."""
    error_type: str | None = None
    """Its class."""
    error_node: str | None = None
    """The node in which it did, if one."""
    error_frames: tuple[Frame, ...] = ()
    """Where in the code of the graph it did, the innermost place last."""
    models: dict[str, str | None] = Field(default_factory=dict[str, "str | None"])
    """Node -> the chat model that served it at the start; None for none."""
    prompts: dict[str, int | None] = Field(default_factory=dict[str, "int | None"])
    """Prompt -> the version that it began with; None for a draft."""
    usage: tuple[UsageRow, ...] = ()
    """What was asked of models."""
    loops: tuple[LoopPasses, ...] = ()
    """What each loop did."""
    path: tuple[str, ...] = ()
    """The nodes in the order in which they ran, gates left out."""
    children: tuple[str, ...] = ()
    """The runs that were forked from it."""
    epoch: int = 0
    """Counts its attempts from 0: higher each time that it goes on, or that its process is taken for gone."""
    priority: int = 0
    """Runs with a higher one have their turn first."""
    lost: int = 0
    """How often in a row its process ended before it did and before it came any further."""
    lost_at: str | None = None
    """The last checkpoint when its process ended last."""
    request: str | None = None
    """SHA-256 of the request that began it, where that had an ``Idempotency-Key``."""


class LoggedEvent(Frozen):
    """An event with its number in the run."""

    seq: int
    """From 1."""
    event: Annotated[RunEvent, Field(discriminator="type")]
    """The event."""


def _as_written(given: Any) -> Any:
    """A moment as ISO 8601 has it, or seconds since 1970, for which pydantic takes a lone year too."""
    if not isinstance(given, str) or re.fullmatch(r"\d{9,}(\.\d+)?", given):
        return given
    try:
        return datetime.fromisoformat(re.sub(r"(?<=:\d\d) (?=\d\d:?\d\d$)", "+", given).upper())  # an address's +
    except ValueError:
        raise ValueError("give a day as 2026-01-31, or a moment as 2026-01-31T12:00:00Z") from None


Moment = Annotated[datetime, BeforeValidator(_as_written)]


class RunFilter(Frozen):
    """Which runs a list holds."""

    workflow: str | None = None
    """The workflow's name."""
    status: RunStatus | None = None
    """How it ended, or that it goes on."""
    stop_reason: str | None = None
    """A loop whose bound was reached; ``any`` for any."""
    text: str | None = None
    """Words that stand in the title, the input or the answer; letter case means nothing."""
    tag: str | None = None
    """What people called them."""
    parent: str | None = None
    """The run that they were forked from."""
    since: Moment | None = None
    """They were asked for at this moment or later; UTC if it names no time zone."""
    until: Moment | None = None
    """They were asked for before this moment."""
    min_seconds: Annotated[float | None, Field(ge=0)] = None
    """They took as long at least."""
    min_cost: Annotated[float | None, Field(ge=0)] = None
    """They cost as much at least, in US dollars."""


Order = Literal["started_at", "seconds", "model_calls", "tokens", "cost", "quality"]
"""What a list of runs is ordered by: the newest, or the highest, first."""


class RunPage(Frozen):
    """A part of a list of runs."""

    runs: tuple[RunSummary, ...]
    """The runs."""
    total: int
    """How many runs fit the filter."""
    next: str | None = None
    """Give it as ``before`` to get the next part; None at the end."""


class PromptVersion(Frozen):
    """One version of a prompt."""

    workflow: str
    """The workflow."""
    prompt: str
    """The prompt's id."""
    version: int
    """From 1; the highest is used."""
    text: str
    """The text."""
    author: str = ""
    """Who wrote it."""
    note: str = ""
    """Why, in the author's words."""
    created_at: datetime | None = None
    """When, UTC; None for versions that ship with the package."""
    digest: str
    """The first 12 hexadecimal digits of the text's SHA-256."""


class KeptEvaluation(Frozen):
    """What came of a set of labelled questions with one version of a workflow."""

    workflow: str
    """The workflow."""
    questions: str
    """Names the set of questions."""
    version: str
    """What its author calls this version of prompts, configuration and models."""
    created_at: datetime
    """When, UTC."""
    prompts: dict[str, int | None]
    """Prompt -> the version that was used; None for a draft."""
    models: dict[str, str | None]
    """Node -> the chat model that served it; None for none."""
    figures: dict[str, Figure]
    """Name -> mean over the questions, with its interval."""
    answers: tuple[EvaluatedAnswer, ...]
    """What came of each question, in order."""


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """An event as it is kept and sent."""

    seq: int
    """Its number in its channel of the run, from 1."""
    name: str
    """Its tag."""
    data: str
    """The event as JSON in one line."""


@dataclass(frozen=True, slots=True)
class NewEvents:
    """Events to add to a run."""

    run_id: str
    """The run."""
    channel: Channel
    """Which of its channels."""
    events: Sequence[KeptEvent]
    """The events, with the numbers that follow those kept."""
    epoch: int = 0
    """The attempt of the run that made them."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What is to be added to what was spent under a key; negative amounts give back."""

    key: str
    """What it is counted under."""
    amounts: Mapping[str, int]
    """``model_calls``, ``tokens`` and ``usd`` -> how much; ``usd`` in units of 1e-12."""
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of these, what must not be exceeded."""
