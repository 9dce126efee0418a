"""The configuration of the question-answering workflow: the engine's sections and its own."""

from typing import ClassVar

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from loopwright.config import RetrySection, Section
from loopwright.retrieval.web import SearchSettings
from loopwright.workflows.rag.constants import Defaults
from loopwright.workflows.rag.schemas import Complexity
from loopwright.workflows.sections import AUTO, WorkflowConfig


class TransformationsByComplexity(Section):
    """A number for each kind of question; None takes `Defaults.MAX_RETRY_COUNT`, as it is when a question is asked."""

    one_hop: NonNegativeInt | None = None
    """Where one fact answers it."""
    multi_hop: NonNegativeInt | None = None
    """Where the answer to one part is needed to find the next."""
    comparison: NonNegativeInt | None = None
    """Where several things are looked up and compared."""

    def of(self, complexity: Complexity) -> int:
        """The number for one kind of question."""
        number: int | None = getattr(self, complexity.value)
        return Defaults.MAX_RETRY_COUNT if number is None else number


class PassagesByComplexity(Section):
    """How many passages a search gives, for each kind of question."""

    one_hop: PositiveInt = 5
    """Where one fact answers it."""
    multi_hop: PositiveInt = 8
    """Where the answer to one part is needed to find the next."""
    comparison: PositiveInt = 8
    """Where several things are looked up and compared."""


class LimitsSection(Section):
    """How often the loops go round in one run; ``langgraph.max_iterations`` is the ceiling of transformations."""

    transformations: TransformationsByComplexity = TransformationsByComplexity()
    """Query transformations, whatever they are wanted for."""
    nothing_relevant: NonNegativeInt | None = None
    """Of these at most so many because nothing relevant was found; None sets no limit of its own."""
    not_useful: NonNegativeInt | None = None
    """Of these at most so many because the answer did not answer the question; None sets no limit of its own."""
    not_supported: NonNegativeInt = Defaults.MAX_REGENERATIONS
    """Further attempts at an answer that its sources do not support."""
    hops: NonNegativeInt = Defaults.MAX_HOPS
    """Searches that an answer to a part of the question leads to."""
    backend_error: NonNegativeInt = 2
    """Further attempts of a node whose knowledge store or search engine failed, in each of its visits."""


class BackoffSection(RetrySection):
    """The wait before a query transformation: ``initial_wait * factor ** passes``, at most ``max_wait``."""

    initial_wait: NonNegativeFloat = 0.0
    """Seconds before the first one; 0 does not wait."""


class RetrievalSection(Section):
    """How passages are found."""

    k: PassagesByComplexity = PassagesByComplexity()
    """Passages for one search."""
    embedding: str | None = AUTO
    """An embedded embedding model by name; ``auto`` takes one on this machine, None makes no vectors."""
    reranker: str | None = AUTO
    """An embedded reranker by name; ``auto`` takes one on this machine, None grades by shared words."""


class IngestSection(Section):
    """How documents become passages."""

    passage_words: PositiveInt = 120
    """Words of a passage, about."""


class NodeTimeouts(Section):
    """Seconds for one attempt of each kind of node."""

    retrieval: PositiveFloat = 60.0
    """Searching the knowledge graph."""
    web: PositiveFloat = 120.0
    """Searching the web."""
    model: PositiveFloat = 120.0
    """A node that asks a chat model, with all its calls."""


class RAGSection(Section):
    """What the question-answering workflow itself is told."""

    store: str = "sqlite:knowledge.db"
    """Where the knowledge lies: ``memory``, ``sqlite:FILE`` or ``postgres://USER@HOST/DATABASE``."""
    limits: LimitsSection = LimitsSection()
    """How often the loops go round."""
    backoff: BackoffSection = BackoffSection()
    """The wait before a query transformation."""
    retrieval: RetrievalSection = RetrievalSection()
    """How passages are found."""
    web: SearchSettings = SearchSettings()
    """Where to look when the knowledge graph has nothing."""
    ingest: IngestSection = IngestSection()
    """How documents become passages."""
    timeout: NodeTimeouts = NodeTimeouts()
    """Seconds for one attempt of a node."""
    grading_concurrency: PositiveInt = 4
    """Passages that a chat model grades at the same time."""
    repairs: NonNegativeInt = 2
    """How often a chat model may correct a reply that breaks its schema."""


class RAGConfig(WorkflowConfig):
    """Everything that `build_graph` and `ask` can be told."""

    rag: RAGSection = RAGSection()
    """What the workflow itself is told."""

    model_nodes: ClassVar[tuple[str, ...]] = (
        "route_question", "nodes_and_edges_grading", "next_hop", "query_transformation", "web_grading",
        "answer_generation", "generation_grading",
    )  # fmt: skip
