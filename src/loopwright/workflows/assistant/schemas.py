"""The values that the nodes of the conference assistant exchange."""

from __future__ import annotations

from datetime import datetime, time
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Frozen(BaseModel):
    """A value that never changes once made, and knows no fields but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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


SearchMode = Literal["faceted", "master"]
"""``faceted`` compares the query with each aspect of a record on its own, ``master`` with the record as a whole."""

QueryMode = Literal["specific", "profile", "hybrid"]
"""``specific``: what the question asks for; ``profile``: what suits the person who asks; ``hybrid``: both."""

Strategy = Literal["", "relax", "rewrite", "pivot"]
"""How a replan differs: ``relax`` asks the same with wider limits, ``rewrite`` in other words, ``pivot`` elsewhere;
empty before any."""

Status = Literal["answered", "partial", "nothing_found", "failed"]
"""``answered``: something fits all that was asked; ``partial``: what was found fits only a part, and the answer says
so; ``nothing_found``: the conference has nothing, and the answer says so; ``failed``: a node failed for good."""

RetryMode = Literal["none", "mechanical", "reflection"]
"""What follows a poor search: nothing, the mechanical relaxation, or a reflection."""


class Filters(Frozen):
    """What a record must be; what is empty does not restrict."""

    days: tuple[str, ...] = ()
    """Days of the conference as ISO dates, at least one of them."""
    after: datetime | None = None
    """Begins then or later, with its time zone."""
    before: datetime | None = None
    """Begins earlier than this, with its time zone."""
    at: datetime | None = None
    """Is on at this moment: has begun by then and has not ended, with its time zone."""
    ends_after: datetime | None = None
    """Ends later than this, with its time zone; with ``before``, what overlaps with a stretch of time."""
    from_time: time | None = None
    """Begins at this time of day or later, on whichever day, by the conference's own clock. What begins in the small
    hours counts as late in the evening before, see ``conference.catalogue.NIGHT_ENDS``."""
    until_time: time | None = None
    """Begins earlier in the day than this, as ``from_time``."""
    at_time: time | None = None
    """Is on at this time of day, on whichever day."""
    without: tuple[str, ...] = ()
    """Ids of records that are not asked for, for example the session that others overlap with."""
    any_of: tuple[Filters, ...] = ()
    """Alternatives, at least one of them as a whole: Saturday morning or Sunday afternoon."""
    rooms: tuple[str, ...] = ()
    """Room names as the schedule has them, at least one of them; a building is all its rooms."""
    tracks: tuple[str, ...] = ()
    """Track names as the schedule has them, at least one of them."""
    types: tuple[str, ...] = ()
    """Types of session as the schedule has them, for example ``keynote``, at least one of them."""
    languages: tuple[str, ...] = ()
    """Language codes as the schedule has them, at least one of them."""
    speakers: tuple[str, ...] = ()
    """Names of persons as the schedule has them, at least one of them."""

    @property
    def empty(self) -> bool:
        """Whether nothing is restricted."""
        return self == Filters()

    @property
    def timed(self) -> bool:
        """Whether a moment or a time of day is asked for, beyond the day."""
        moments = (self.after, self.before, self.at, self.ends_after)
        asked = (*moments, self.from_time, self.until_time, self.at_time)
        return any(said is not None for said in asked) or any(filters.timed for filters in self.any_of)


class PlannedQuery(Frozen):
    """One search of a plan."""

    table: Table
    """Where to look."""
    search_mode: SearchMode = "master"
    """How to compare."""
    query_text: str = ""
    """What to look for; empty takes whatever the filters let through, in order of time."""
    filters: Filters = Filters()
    """What a record must be."""
    limit: int = Field(default=10, ge=1, le=200)
    """At most so many hits."""
    score_threshold: float = Field(default=0.35, ge=0, le=1)
    """Hits that score less are near misses, not results."""


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
    """Facet -> what the record says of itself there; see ``data/facets.yaml``."""
    fields: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """Field -> values to filter by: ``day`` (ISO date), ``room``, ``track``, ``type``, ``language``, ``speaker``."""
    start: datetime | None = None
    """When it begins, with its time zone."""
    end: datetime | None = None
    """When it ends, with its time zone."""
    url: str = ""
    """Its page."""
    related: tuple[str, ...] = ()
    """Ids of other records: a talk's speakers, a speaker's talks."""

    def values(self, field: str) -> tuple[str, ...]:
        """The values of a field, empty if it has none.

        Args:
            field: The field.
        """
        return self.fields.get(field, ())


class Found(Frozen):
    """A record that a search found."""

    record: Record
    """The record."""
    score: float = Field(ge=0, le=1)
    """How well it fits; the same scale in all tables and both search modes."""
    matched: dict[str, float] = Field(default_factory=dict[str, float])
    """Facet -> how well it fits there, from 0 to 1, the best first."""
    terms: tuple[str, ...] = ()
    """Words of the query that it holds, as the query has them."""


class SearchOutcome(Frozen):
    """What one planned query brought."""

    query: PlannedQuery
    """The query."""
    hits: tuple[Found, ...] = ()
    """What reaches the threshold, best first, at most ``query.limit``."""
    near_misses: tuple[Found, ...] = ()
    """The best of what lies below the threshold, best first, at most 5."""
    total: int = Field(default=0, ge=0)
    """How many records reach the threshold, beyond the limit too."""


class Understanding(Frozen):
    """What a question asks for, as far as rules or a model can tell."""

    standalone: str
    """The question as it stands without the conversation before it."""
    intent: str
    """What is wanted, in a few words, for example "sessions on a topic"."""
    query_mode: QueryMode
    """Whether the question, the person's profile, or both decide."""
    tables: tuple[Table, ...]
    """Where to look, the most important first."""
    topic: str = ""
    """What it is about, without the words that only set filters; empty if it is about no topic."""
    filters: Filters = Filters()
    """What is asked of time, place, track, language and persons."""
    notes: tuple[str, ...] = ()
    """What could not be taken as asked, for people, for example "there is no room Jansen; did you mean Janson?"."""
    smalltalk: bool = False
    """Whether it asks for nothing that could be searched, for example a greeting or thanks."""


class RetryWish(Frozen):
    """Why another search would help."""

    reason: str
    """In a few words, for people."""
    kind: Literal["no_results", "too_few", "weak"]
    """``no_results``: a table that was asked has none; ``too_few``: fewer than wanted; ``weak``: all near the
    threshold."""
    tables: tuple[Table, ...]
    """The tables that it concerns."""


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
    languages: tuple[str, ...] = ()
    """Language codes that the person understands; empty for any."""
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
    faithfulness_score: float = Field(ge=0, le=1)
    """The share of its statements that the cited records bear out."""
    feedback: str = ""
    """What another attempt should mend, in one sentence; empty if nothing."""
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
