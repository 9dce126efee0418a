"""The configuration of the conference assistant: the engine's sections and its own."""

from typing import ClassVar

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from loopwright.config import Section
from loopwright.workflows.assistant.constants import DEFAULT_LIMIT, DEFAULT_THRESHOLD, MAX_LIMIT
from loopwright.workflows.assistant.schemas import RetryMode
from loopwright.workflows.sections import AUTO, WorkflowConfig


class SearchSection(Section):
    """How records are found."""

    limit: PositiveInt = Field(default=DEFAULT_LIMIT, le=MAX_LIMIT)
    """Hits that one planned query gives."""
    score_threshold: float = Field(default=DEFAULT_THRESHOLD, ge=0, le=1)
    """The score below which a hit is only a near miss."""
    enough: NonNegativeInt = 3
    """Fewer results than this, where a topic was asked for, are too few."""
    embedding: str | None = AUTO
    """An embedded embedding model by name, or a folder with one; ``auto`` takes one on this machine, None searches
    without vectors."""


class AssistantTimeouts(Section):
    """Seconds for one attempt of each kind of node."""

    search: PositiveFloat = 30.0
    """Searching the conference; looked at after each query, which is not cut short itself."""
    memory: PositiveFloat = 10.0
    """Reading or keeping what is remembered of a person or a conversation; what is too slow is done without."""
    model: PositiveFloat = 60.0
    """A node that asks a chat model, with all its calls."""


class AssistantSection(Section):
    """What the assistant itself is told."""

    store: str = "sqlite:conference.db"
    """Where the conference lies: ``memory``, ``sqlite:FILE`` or ``postgres://USER@HOST/DATABASE``."""
    memory: str = "memory"
    """Where profiles and conversations are kept: ``memory`` (until the process ends), ``sqlite:FILE`` or
    ``postgres://USER@HOST/DATABASE``, for several servers and workers."""
    reflection_enabled: bool = True
    """Whether a poor search is followed by a reflection; else by the mechanical relaxation."""
    max_retry_count: NonNegativeInt = 2
    """Retries of a poor search in one run; 0 wires none."""
    history_turns: NonNegativeInt = 20
    """Earlier turns of a conversation that a question is read with."""
    search: SearchSection = SearchSection()
    """How records are found."""
    timeout: AssistantTimeouts = AssistantTimeouts()
    """Seconds for one attempt of a node."""
    repairs: NonNegativeInt = 2
    """How often a chat model may correct a reply that breaks its schema."""

    @property
    def retry_mode(self) -> RetryMode:
        """What follows a poor search."""
        if self.max_retry_count == 0:
            return "none"
        return "reflection" if self.reflection_enabled else "mechanical"


class AssistantConfig(WorkflowConfig):
    """Everything that `build_graph` and `chat` can be told."""

    assistant: AssistantSection = AssistantSection()
    """What the workflow itself is told."""

    model_nodes: ClassVar[tuple[str, ...]] = (
        "update_profile", "generate_acknowledgment", "plan_queries", "reflect_and_replan", "generate_response",
        "evaluate",
    )  # fmt: skip
