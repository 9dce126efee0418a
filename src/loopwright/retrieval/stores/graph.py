"""Entities, facts and their links, read with aliases resolved; the same statements for every backend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from loopwright.retrieval.records import Entity, Fact, Links, StoreStats
from loopwright.retrieval.stores.filtering import containing
from loopwright.retrieval.stores.resolution import Resolution
from loopwright.retrieval.stores.sessions import Condition, Session
from loopwright.retrieval.stores.storable import bounded
from loopwright.retrieval.stores.values import FACT_COLUMNS, fact_of
from loopwright.retrieval.text import fold


def resolution(session: Session) -> Resolution:
    """The aliases that the documents declare, merged."""
    return Resolution((row[0], row[1]) for row in session.rows("SELECT DISTINCT alias, entity FROM alias"))


def read_stats(session: Session) -> StoreStats:
    """How much there is."""
    resolved = resolution(session)
    counts = session.rows(
        "SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM passage), (SELECT count(*) FROM fact), "
        "(SELECT count(DISTINCT passage) FROM embedding)"
    )[0]
    return StoreStats(
        documents=counts[0],
        passages=counts[1],
        entities=len({resolved.canonical(row[0]) for row in session.rows("SELECT DISTINCT entity FROM entity_name")}),
        facts=counts[2],
        vectors=counts[3],
    )


def read_entities(session: Session, text: str, limit: int) -> list[Entity]:
    """Entities one of whose names holds a text, the most mentioned first, then by key."""
    resolved = resolution(session)
    holds = containing("folded", fold(text))
    found = session.rows(f"SELECT DISTINCT entity FROM entity_name WHERE {holds.sql}", holds.parameters)
    wanted = {member for row in found for member in resolved.members(row[0])}
    named = session.among("entity", sorted(wanted))
    names: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for entity, name, mentions in session.rows(
        f"SELECT entity, name, mentions FROM entity_name WHERE {named.sql}", named.parameters
    ):
        names[resolved.canonical(entity)][name] += mentions
    first = sorted(names, key=lambda key: (-sum(names[key].values()), key))[: max(0, limit)]
    documents = _documents_that_mention(session, resolved, first)
    entities: list[Entity] = []
    for key in first:
        by_frequency = tuple(sorted(names[key], key=lambda name: (-names[key][name], name)))
        entities.append(
            Entity(
                key=key,
                name=by_frequency[0],
                names=by_frequency,
                mentions=sum(names[key].values()),
                documents=len(documents[key]),
            )
        )
    return entities


def _documents_that_mention(session: Session, resolved: Resolution, keys: Sequence[str]) -> dict[str, set[int]]:
    named = session.among("entity_name.entity", [member for key in keys for member in resolved.members(key)])
    documents: defaultdict[str, set[int]] = defaultdict(set)
    for entity, document in session.rows(
        "SELECT DISTINCT entity_name.entity, passage.document FROM entity_name JOIN mention "
        "ON mention.name = entity_name.key JOIN passage ON passage.key = mention.passage WHERE " + named.sql,
        named.parameters,
    ):
        documents[resolved.canonical(entity)].add(document)
    return documents


def read_facts(
    session: Session, *, entity: str | None, passage_ids: Sequence[str] | None, text: str, limit: int
) -> list[Fact]:
    """Facts that meet all that is asked, the surest first, then by id."""
    conditions: list[Condition] = []
    if entity is not None:
        keys = resolution(session).members(bounded(entity))
        subject, object = session.among("fact.subject_key", keys), session.among("fact.object_key", keys)
        conditions.append(Condition(f"({subject.sql} OR {object.sql})", (*subject.parameters, *object.parameters)))
    if passage_ids is not None:
        conditions.append(session.among("passage.id", passage_ids))
    if text:
        conditions.append(containing("fact.folded", fold(text)))
    where = " AND ".join(condition.sql for condition in conditions) or "TRUE"
    parameters: list[Any] = [parameter for condition in conditions for parameter in condition.parameters]
    rows = session.rows(
        f"SELECT {FACT_COLUMNS} FROM fact JOIN passage ON passage.key = fact.passage WHERE {where} "
        "ORDER BY fact.confidence DESC, fact.id, passage.id LIMIT ?",
        (*parameters, max(0, limit)),
    )
    return [fact_of(row) for row in rows]


def read_links(session: Session) -> Links:
    """The graph: passages by id, entities by key; facts that have no name on one side are left out."""
    resolved = resolution(session)
    passages = session.rows("SELECT key, id, title_key FROM passage ORDER BY id")
    place = {key: index for index, (key, _, _) in enumerate(passages)}
    key_of = {key: resolved.canonical(entity) for key, entity in session.rows("SELECT key, entity FROM entity_name")}
    facts = [
        (resolved.canonical(subject), resolved.canonical(object), place[passage], confidence)
        for subject, object, passage, confidence in session.rows(
            "SELECT subject_key, object_key, passage, confidence FROM fact WHERE subject_key <> '' AND object_key <> ''"
        )
    ]
    entities = sorted({*key_of.values(), *(key for fact in facts for key in fact[:2])})
    index = {key: number for number, key in enumerate(entities)}
    number_of = {name: index[key] for name, key in key_of.items()}
    # Each pair is one number while equal ones are added up: there may be millions.
    counts = session.rows("SELECT passage, name, count(*) FROM mention GROUP BY passage, name")
    pairs = np.fromiter((place[row[0]] * len(entities) + number_of[row[1]] for row in counts), np.int64, len(counts))
    times = np.fromiter((row[2] for row in counts), np.int64, len(counts))
    distinct, where = np.unique(pairs, return_inverse=True)
    added = np.zeros(len(distinct), np.int64)
    np.add.at(added, where, times)
    named, mentioned = np.divmod(distinct, max(1, len(entities)))
    return Links(
        passages=tuple(row[1] for row in passages),
        titles=tuple(resolved.canonical(row[2]) for row in passages),
        entities=tuple(entities),
        mentions=tuple(zip(named.tolist(), mentioned.tolist(), added.tolist(), strict=True)),
        facts=tuple(sorted((index[subject], index[object], passage, sure) for subject, object, passage, sure in facts)),
    )
