"""The values that the nodes of the conference assistant exchange."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from loopwright.config import Frozen
from loopwright.workflows.assistant.constants import MAX_LIMIT


class Table(StrEnum):
    """The kinds of records that a conference has."""

    SESSIONS = "sessions"
    """Talks, workshops, meetings: whatever has a time and a room."""
    SPEAKERS = "speakers"
    """Who gives them."""
    EXHIBITORS = "exhibitors"
    """Stands, booths and sponsors."""
    ATTENDEES = "attendees"
    """Who comes and may be met."""


QueryMode = Literal["specific", "profile"]
"""``specific``: what the question asks for; ``profile``: what suits the person who asks."""

Strategy = Literal["", "relax", "rewrite", "pivot"]
"""How a replan differs: ``relax`` asks the same with wider limits, ``rewrite`` in other words, ``pivot`` elsewhere;
empty before any."""

Status = Literal["answered", "partial", "nothing_found", "out_of_scope", "failed"]
"""``answered``: something fits all that was asked; ``partial``: what was found fits only a part, and the answer says
so; ``nothing_found``: the conference has nothing, and the answer says so; ``out_of_scope``: no programme answers that,
and the answer says so; ``failed``: a node failed for good."""

RetryMode = Literal["none", "mechanical", "reflection"]
"""What follows a poor search: nothing, the mechanical relaxation, or a reflection."""


Slot = Literal["day", "start", "end", "on", "minutes", "room", "track", "type", "language", "person", "record"]
"""What can be asked of a record beside its topic. ``start`` is when it begins, ``end`` when it ends, ``on`` when it is
on, each as minutes of its day's clock; ``minutes`` how long it takes; the others have values as the
schedule has them."""


class Condition(Frozen):
    """One thing that a record must be, or must not be."""

    slot: Slot
    """What is asked of."""
    values: tuple[str, ...] = ()
    """At least one of these; for ``record`` ids, for times the days that they are meant of, or none for all."""
    least: int | None = None
    """Minutes after midnight, or of length: no less than this (``end`` and ``on``: later than this). What begins in the
    small hours counts on from 24:00."""
    most: int | None = None
    """Minutes: less than this (``end`` and ``minutes``: no more than this)."""
    said: str = ""
    """The same for people, for example "before 13:00"."""


class Filters(Frozen):
    """What a record must be, and what it must not be."""

    include: tuple[Condition, ...] = ()
    """All of these must hold."""
    exclude: tuple[Condition, ...] = ()
    """None of these may hold."""
    without: tuple[str, ...] = ()
    """Topics that a record must not be about, nor mention."""

    @property
    def empty(self) -> bool:
        """Whether nothing is restricted."""
        return self == Filters()

    def values(self, slot: Slot) -> tuple[str, ...]:
        """The values that one slot must have; empty if it may have any."""
        return tuple(dict.fromkeys(each for held in self.include if held.slot == slot for each in held.values))

    def but(self, *slots: Slot) -> Filters:
        """The same without what is wanted of some slots; what is excluded stays."""
        return self.model_copy(update={"include": tuple(each for each in self.include if each.slot not in slots)})


Pick = Literal["", "first", "last", "longest", "shortest"]
"""Which of the records that fit are asked for; empty for all."""


class PlannedQuery(Frozen):
    """One search of a plan."""

    table: Table
    """Where to look."""
    query_text: str = ""
    """What to look for; empty takes whatever the filters let through, in order of time."""
    filters: Filters = Filters()
    """What a record must be."""
    limit: int = Field(default=10, ge=1, le=MAX_LIMIT)
    """At most so many hits."""
    score_threshold: float = Field(default=0.35, ge=0, le=1)
    """Hits that score less are near misses, not results."""
    pick: Pick = ""
    """Which of the results alone count."""
    by_meaning: bool = False
    """Whether meaning alone ranks, where there are vectors: what is told in other words than the programme's."""
    near: int | None = None
    """The minute of the day that was given up: of what fits as well, what begins nearest to it comes first."""


class Record(Frozen):
    """A talk, a person, a stand: what is found and cited."""

    id: str
    """``TABLE:KEY``, for example ``sessions:6196``."""
    table: Table
    """Its kind."""
    key: str
    """Its identifier within its table: the event's id, the person's id, the stand's title."""
    title: str
    """The talk's title, the person's or the exhibitor's name."""
    texts: dict[str, str] = Field(default_factory=dict[str, str])
    """Facet -> what the record says of itself there; for example ``abstract``."""
    fields: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """Field -> values: ``day`` (ISO), ``room``, ``track``, ``type``, ``language``, ``speaker``, ``status`` (off)."""
    start: datetime | None = None
    """When it begins, with its time zone."""
    end: datetime | None = None
    """When it ends, with its time zone."""
    url: str = ""
    """Its page."""
    related: tuple[str, ...] = ()
    """Ids of other records: a talk's speakers, a speaker's talks."""

    def values(self, field: str) -> tuple[str, ...]:
        """The values of a field, empty if it has none."""
        return self.fields.get(field, ())


class Found(Frozen):
    """A record that a search found."""

    record: Record
    """The record."""
    score: float = Field(ge=0, le=1)
    """How well it fits; the same scale in all tables."""
    terms: tuple[str, ...] = ()
    """Words of the query that it holds, as the query has them."""


class SearchOutcome(Frozen):
    """What one planned query brought."""

    query: PlannedQuery
    """The query."""
    hits: tuple[Found, ...] = ()
    """What reaches the threshold, best first, at most ``query.limit``."""
    near_misses: tuple[Found, ...] = ()
    """The best of what lies below the threshold, best first, at most 10."""
    total: int = Field(default=0, ge=0)
    """How many records reach the threshold, beyond the limit too."""
    strangers: tuple[str, ...] = ()
    """Words of the query that say much, and stand in no record of the table."""
    counts: dict[str, dict[str, int]] = Field(default_factory=dict[str, dict[str, int]])
    """Field -> value -> how many of these have it, the most frequent first; where the question counts."""


Operation = Literal[
    "find", "recommend", "count", "most", "first", "last", "longest", "shortest", "now", "next", "previous", "until",
    "clash", "compare", "about", "personal", "greeting", "thanks", "help", "outside",
]  # fmt: skip
"""What is to be done with the records. ``most`` asks which day, person, room or track has the most; ``about`` is about
the conference itself, ``personal`` about the person who asks; ``outside`` is what no programme answers."""

SMALLTALK: tuple[Operation, ...] = ("greeting", "thanks", "help", "personal")
"""Operations that search nothing and find no fault."""


class Question(Frozen):
    """What a question asks for, as far as rules or a model can tell."""

    text: str
    """The question."""
    operation: Operation = "find"
    """What is to be done with what fits."""
    query_mode: QueryMode = "specific"
    """Whether the question or the person's profile decides."""
    tables: tuple[Table, ...] = (Table.SESSIONS,)
    """Where to look, the most important first."""
    topic: str = ""
    """What is left of the question to rank records by, in the person's words; empty if it is about no topic."""
    filters: Filters = Filters()
    """What is asked of time, place, kind and persons, and what is not wanted."""
    by: str = ""
    """What is counted where the operation is ``most`` or ``count``: a field, ``free room`` or a table; else records."""
    wanted: int = 0
    """How many records are asked for, as in "three talks about Rust"; 0 without a number."""
    notes: tuple[str, ...] = ()
    """What could not be taken as asked, for people, for example "there is no room Jansen"."""
    unread: tuple[str, ...] = ()
    """Words that say something and were read as nothing, where conditions alone are searched by: an answer to the rest
    is one in part."""
    doubted: bool = False
    """Whether something else than a search may be asked for: then what is found is no more than an answer in part."""
    parts: tuple[Question, ...] = ()
    """Where several things are asked for, each on its own; then this one only frames them."""

    @property
    def smalltalk(self) -> bool:
        """Whether it asks for nothing that could be searched, for example a greeting or thanks."""
        return self.operation in SMALLTALK

    @property
    def searches(self) -> bool:
        """Whether the programme is searched for it."""
        return not self.smalltalk and self.operation not in ("about", "outside")


class Reflection(Frozen):
    """What to search next, and why."""

    reasoning: str
    """For developers: what was seen and what follows."""
    strategy: Strategy
    """How the new plan differs."""
    message: str
    """For the person who asked, without jargon."""
    queries: tuple[PlannedQuery, ...]
    """The new plan; empty if nothing is left that was not tried."""


class Profile(Frozen):
    """What is known of a person, kept between conversations and deletable."""

    user_id: str
    """Names the person."""
    name: str = ""
    """How to address the person."""
    interests: tuple[str, ...] = ()
    """Topics, in the person's words, newest last."""
    seeking: tuple[str, ...] = ()
    """What the person wants to buy, learn or find."""
    offering: tuple[str, ...] = ()
    """What the person sells, teaches or brings."""
    updated_at: datetime | None = None
    """When it last changed, UTC."""


class Turn(Frozen):
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    """Who spoke."""
    text: str
    """What was said."""
    referenced_ids: tuple[str, ...] = ()
    """The records that an answer cites, in order."""
    at: datetime | None = None
    """When, UTC."""


class Draft(Frozen):
    """An answer that was written."""

    text: str
    """The answer as Markdown; a cited record follows its mark, for example ``[sessions:6196]``."""
    referenced_ids: tuple[str, ...] = ()
    """The records that it cites, in the order of the answer; each was put before the writer."""
    status: Status = "answered"
    """How honest an end this is."""


class Evaluation(Frozen):
    """How good an answer is."""

    quality_score: float = Field(ge=0, le=1)
    """Whether it answers what was asked: the share of the question's parts that its citations meet."""
    confidence_score: float = Field(ge=0, le=1)
    """How sure the search was: the mean score of the cited records, 0 without any."""
    faithfulness_score: float | None = Field(default=None, ge=0, le=1)
    """The share of its statements that the cited records bear out, as a chat model judges; None without one."""
    issues: tuple[str, ...] = ()
    """What is wrong with it, each in a few words."""


class ThinkingUpdate(Frozen):
    """A step of thinking as the person sees it."""

    message: str
    """What is done next, and why, without jargon."""
    strategy: Strategy
    """How the plan changed."""
    retry_count: int = Field(ge=0)
    """Which retry it is, from 1."""
    ts: datetime
    """When, UTC."""


UserContext = dict[str, Any]
"""What a caller says of who asks: ``user_id``, ``conversation_id``, ``now`` (ISO time; the moment of asking), and
``profile`` (fields of `Profile`, used for this question alone)."""


class Ending(Frozen):
    """How a run ended."""

    run_id: str
    """Names the run."""
    referenced_ids: tuple[str, ...]
    """The records that the answer cites, in its order."""
    status: Status
    """How honest an end it is."""
    stop_reason: dict[str, Any] | list[dict[str, Any]] | None
    """Which loop reached its bound, or None."""


class Summary(Frozen):
    """A whole run at a glance."""

    run_id: str
    """Names the run."""
    path: tuple[str, ...]
    """The nodes in the order in which they ran."""
    duration_ms: float
    """Milliseconds of wall time."""
    retry_count: int
    """Retries of the search."""
    model_calls: int
    """Calls of chat models."""
    tokens: int
    """Tokens of these calls, in and out."""
    cost: float | None
    """Their price in US dollars; None if it is not known."""
    scores: dict[str, float]
    """``quality`` and ``confidence`` of the answer, and with a chat model ``faithfulness``, from 0 to 1; empty if it
    was not judged."""


class ChatResult(Ending, Summary):
    """The outcome of one question."""

    message: str
    """The question as asked."""
    answer: str
    """The answer as Markdown, a cited record's id in brackets."""
    acknowledgment: str
    """What the person was told before the search."""
    thinking_updates: tuple[ThinkingUpdate, ...]
    """What the person was told of each retry, in order."""
    original_planned_queries: tuple[PlannedQuery, ...]
    """The first plan."""
    queries: tuple[PlannedQuery, ...]
    """Everything that was searched, in order."""
    results: dict[str, tuple[Found, ...]]
    """Table -> what was found over all plans, best first."""
    error: str | None
    """What failed on the way, or None."""
    error_node: str | None
    """Where it failed, or None."""
