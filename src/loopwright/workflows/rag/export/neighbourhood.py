"""The part of the knowledge graph around some passages and entities."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

from loopwright.errors import InputError
from loopwright.retrieval.mentions import entity_key, find_mentions, mentions_in
from loopwright.retrieval.records import Fact, Links, Passage
from loopwright.retrieval.stores import KnowledgeStore
from loopwright.workflows.rag.schemas import Answer, Frozen

_FACTS = 2_000
_SAME_NAME = 50


class Node(Frozen):
    """A passage or an entity."""

    id: str
    """The passage's id or the entity's key, after ``passage:`` or ``entity:``."""
    kind: Literal["passage", "entity"]
    """Which of the two it is."""
    label: str
    """The passage's title, or the entity's name."""
    text: str = ""
    """The passage's text; empty for an entity."""
    place: str = ""
    """Where in its document the passage stands: headings and page, where it has any."""
    asked_for: bool = False
    """Whether it was asked for, and not only found beside what was."""
    citations: tuple[int, ...] = ()
    """The numbers of the answer's citations that quote the passage."""


class Edge(Frozen):
    """A passage that names an entity, or a fact about two entities."""

    source: str
    """The passage's node for a mention, the subject's for a fact."""
    target: str
    """The entity's node for a mention, the object's for a fact."""
    kind: Literal["mention", "fact"]
    """Which of the two it is."""
    relation: str = ""
    """What the fact says of the two; empty for a mention."""
    quote: str = ""
    """The words of the passage that state the fact; empty for a mention."""
    passage: str = ""
    """The node of the passage that states the fact; empty for a mention."""
    confidence: float = 1.0
    """How sure the extractor is of the fact, from 0 to 1."""


class Neighbourhood(Frozen):
    """Some nodes of the knowledge graph and all edges between them."""

    nodes: tuple[Node, ...]
    """The nodes: what was asked for, then what is linked best to it; no id twice."""
    edges: tuple[Edge, ...]
    """The mentions, then the facts."""
    left_out: int = 0
    """Linked nodes for which there was no room."""


def neighbourhood_of_answer(store: KnowledgeStore, answer: Answer, *, limit: int = 40) -> Neighbourhood:
    """The knowledge that an answer stands on: the passages that it cites, the entities that it names, and their links.

    Args:
        store: The knowledge store.
        answer: The answer; citations of the web are not in the store, and left out.
        limit: At most so many nodes; see `neighbourhood`.

    Raises:
        StoreError: If the store cannot be read.
    """
    cited: defaultdict[str, list[int]] = defaultdict(list)
    for citation in answer.citations:
        if citation.origin == "graph":
            cited[citation.evidence_id].append(citation.number)
    named = [mention.entity for mention in find_mentions(f"{answer.short}\n{answer.text}")]
    found = neighbourhood(store, list(cited), named, limit=max(limit, len(cited)))
    marked = [
        node.model_copy(update={"citations": tuple(cited.get(node.id.removeprefix("passage:"), ()))})
        if node.kind == "passage"
        else node
        for node in found.nodes
    ]
    return found.model_copy(update={"nodes": tuple(marked)})


def neighbourhood(
    store: KnowledgeStore, passages: Sequence[str] = (), entities: Sequence[str] = (), *, limit: int = 40
) -> Neighbourhood:
    """The passages and entities that are asked for, and those that are linked to them.

    What is linked to most of them comes first, by facts before mentions, and of equals what is linked to less else.

    Args:
        store: The knowledge store.
        passages: Passage ids; those that are not there are left out.
        entities: Entity keys, or keys of aliases (see `loopwright.retrieval.mentions.entity_key`); those that are not
            there are left out.
        limit: At most so many nodes. What is asked for comes first, passages before entities.

    Raises:
        InputError: If the limit is below 1.
        StoreError: If the store cannot be read.
    """
    if limit < 1:
        raise InputError(f"a neighbourhood of {limit} nodes shows nothing: give a limit from 1")
    return _Gathering(store).gather(passages, entities, limit)


class _Gathering:
    """One neighbourhood as it is put together; nodes are numbered, passages first, entities after them."""

    def __init__(self, store: KnowledgeStore) -> None:
        self._store = store
        self._links: Links = store.links()
        self._passage = {passage: number for number, passage in enumerate(self._links.passages)}
        first = len(self._passage)
        self._entity = {key: number for number, key in enumerate(self._links.entities, first)}

    def gather(self, passages: Sequence[str], entities: Sequence[str], limit: int) -> Neighbourhood:
        asked = [self._passage[passage] for passage in passages if passage in self._passage]
        asked += [number for key in entities if (number := self._number_of(key, key)) is not None]
        asked = list(dict.fromkeys(asked))
        near = self._near(set(asked))
        shown = [*asked, *near][:limit]
        held = {self._passage[passage.id]: passage for passage in self._passages(shown)}
        # A passage that was deleted meanwhile is a node of the links, and in the store no more.
        shown = [number for number in shown if number in held or number >= len(self._passage)]
        facts = self._facts(held, set(shown))
        names = self._names(held, facts)
        nodes = {number: self._node(number, held, names, number in asked) for number in shown}
        edges = [
            Edge(source=nodes[passage].id, target=nodes[number].id, kind="mention")
            for passage, number in self._mentions()
            if passage in nodes and number in nodes
        ]
        for subject, object, fact in facts:
            passage = held[self._passage[fact.passage_id]]
            edges.append(
                Edge(
                    source=nodes[subject].id,
                    target=nodes[object].id,
                    kind="fact",
                    relation=fact.relation,
                    quote=passage.text[fact.start : fact.end],
                    passage=f"passage:{fact.passage_id}",
                    confidence=fact.confidence,
                )
            )
        left_out = max(0, len(asked) + len(near) - limit)
        return Neighbourhood(nodes=tuple(nodes.values()), edges=tuple(edges), left_out=left_out)

    def _mentions(self) -> list[tuple[int, int]]:
        first = len(self._passage)
        return [(passage, first + entity) for passage, entity, _ in self._links.mentions]

    def _near(self, asked: set[int]) -> list[int]:
        """What is linked to what is asked for, the best linked first."""
        first = len(self._passage)
        by_mention: defaultdict[int, set[int]] = defaultdict(set)
        by_fact: defaultdict[int, set[int]] = defaultdict(set)
        degree: defaultdict[int, int] = defaultdict(int)
        pairs = [(left, right, by_mention) for left, right in self._mentions()]
        for subject, object, passage, _ in self._links.facts:
            ends = (first + subject, first + object, passage)
            pairs += [(left, right, by_fact) for left in ends for right in ends if left < right]
        for left, right, kind in pairs:
            degree[left] += 1
            degree[right] += 1
            if left in asked:
                kind[right].add(left)
            if right in asked:
                kind[left].add(right)
        near = (by_mention.keys() | by_fact.keys()) - asked
        return sorted(
            near,
            key=lambda n: (-len(by_mention[n] | by_fact[n]), -len(by_fact[n]), degree[n], n),
        )

    def _passages(self, shown: Sequence[int]) -> list[Passage]:
        ids = self._links.passages
        return self._store.passages([ids[number] for number in shown if number < len(ids)])

    def _facts(self, held: Mapping[int, Passage], shown: set[int]) -> list[tuple[int, int, Fact]]:
        """The facts that shown passages state of two shown entities, each statement once."""
        found: dict[tuple[int, int, str, str], tuple[int, int, Fact]] = {}
        stated = self._store.facts(passage_ids=[passage.id for passage in held.values()], limit=_FACTS)
        for fact in stated:
            subject = self._number_of(entity_key(fact.subject), fact.subject)
            object = self._number_of(entity_key(fact.object), fact.object)
            if subject is not None and object is not None and subject in shown and object in shown:
                found.setdefault((subject, object, fact.relation, fact.passage_id), (subject, object, fact))
        return list(found.values())

    def _number_of(self, key: str, name: str) -> int | None:
        """The number of the entity that a key names; None if the store has none."""
        if key in self._entity:
            return self._entity[key]
        # The links know only the key that aliases were resolved to; the store knows all names of an entity.
        for entity in self._store.entities(name, limit=_SAME_NAME) if key else ():
            if key in map(entity_key, entity.names):
                return self._entity.get(entity.key)
        return None

    def _names(self, held: Mapping[int, Passage], facts: Sequence[tuple[int, int, Fact]]) -> dict[int, str]:
        """What the shown passages and facts call each entity: full names before short ones, then the most frequent."""
        counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for passage in held.values():
            for mention in mentions_in(passage):
                if (number := self._entity.get(mention.entity)) is not None:
                    counts[number][mention.name] += 1
        for subject, object, fact in facts:
            counts[subject][fact.subject] += 1
            counts[object][fact.object] += 1
        return {
            number: min(names, key=lambda name: (self._entity.get(entity_key(name)) != number, -names[name], name))
            for number, names in counts.items()
        }

    def _node(self, number: int, held: Mapping[int, Passage], names: Mapping[int, str], asked_for: bool) -> Node:
        if (passage := held.get(number)) is None:
            key = self._links.entities[number - len(self._passage)]
            return Node(id=f"entity:{key}", kind="entity", label=names.get(number, key), asked_for=asked_for)
        page = f"page {passage.page}" if passage.page else ""
        return Node(
            id=f"passage:{passage.id}",
            kind="passage",
            label=passage.title,
            text=passage.text,
            place=", ".join(part for part in (passage.heading, page) if part),
            asked_for=asked_for,
        )
