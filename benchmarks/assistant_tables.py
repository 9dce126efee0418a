"""The tables of the conference assistant's benchmark."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from assistant_ways import Variant, Way
from rag_peers import Peers, Rankings

from loopwright.workflows.evaluation import Figure, Question, mean_figure
from loopwright.workflows.evaluation.scores import PLACES, ndcg_at, recall_at

Comparison: TypeAlias = dict[Way, Variant]
Measured: TypeAlias = dict[str, dict[str, Comparison]]
"""Which weights -> question's id -> the question in every way."""

WAYS: dict[Way, str] = {
    "none": "first search alone",
    "mechanical": "mechanical retry",
    "reflection": "reflection",
    "wide": "one wide search",
}
INGEST_TARGETS = (10.0, 1.0)
"""Seconds that the first and the second reading of a schedule may take."""


@dataclass
class Ingest:
    """How long reading the conference took, in seconds."""

    first: float
    again: float
    vectors: float | None = None


def difference(after: float | None, before: float | None) -> float | None:
    """What is gained, or None where one of the two is not known."""
    return None if after is None or before is None else after - before


def percent(figure: Figure, sign: str = "") -> str:
    """A share with its interval."""
    if figure.value is None or figure.low is None or figure.high is None:
        return "-"
    return f"{figure.value * 100:{sign}.1f} [{figure.low * 100:{sign}.0f}, {figure.high * 100:{sign}.0f}]"


def share(values: Sequence[bool]) -> Figure:
    """How many of them hold."""
    return mean_figure([float(value) for value in values])


def row_of(name: str, labels: Sequence[Question], kinds: Sequence[str], ranked: Rankings, says_so: Figure) -> str:
    """recall@10 of all questions and of each kind, nDCG@10, and how often it is said that there is no answer."""

    def recall(kind: str | None) -> str:
        asked = [label for label in labels if kind in (None, label.kind)]
        return percent(
            mean_figure([recall_at(ranked[label.id], label.expected.citations or (), PLACES) for label in asked])
        )

    ndcg = percent(mean_figure([ndcg_at(ranked[label.id], label.expected.citations or (), PLACES) for label in labels]))
    cells = [recall(None), *(recall(kind) for kind in kinds), ndcg, percent(says_so)]
    return f"| {name} | {' | '.join(cells)} |"


def citations(comparisons: dict[str, Comparison], way: Way, tables: Collection[str]) -> Rankings:
    """What the answers cite, of the tables that are judged."""
    return {
        name: [cited for cited in compared[way].cited if cited.partition(":")[0] in tables]
        for name, compared in comparisons.items()
    }


def recall_section(labels: Sequence[Question], records: int, peers: Peers, measured: Measured) -> str:
    """The table of what is found among so many records, by kind."""
    kinds = list(dict.fromkeys(label.kind for label in labels if label.expected.citations))
    tables: list[str] = labels[0].expected.own["tables"]
    counts = [f"{kind} ({sum(label.kind == kind for label in labels)})" for kind in kinds]
    unanswerable = [label.id for label in labels if not label.expected.citations]
    rows = [
        f"| recall@{PLACES}, {len(labels)} questions, {records} records | all | {' | '.join(counts)} "
        f"| nDCG@{PLACES} | says that there is none ({len(unanswerable)}) |",
        "|---" * (len(kinds) + 4) + "|",
    ]
    rows += [row_of(name, labels, kinds, ranked, Figure(n=0)) for name, ranked in peers.rankings.items()]
    for weights, comparisons in measured.items():
        for way, name in WAYS.items():
            says_so = share([comparisons[id][way].status == "nothing_found" for id in unanswerable])
            ranked = citations(comparisons, way, tables)
            rows.append(row_of(f"ours{weights}, {name}", labels, kinds, ranked, says_so))
    rows += [f"- not measured: {name}: {why}" for name, why in peers.missing.items()]
    return "\n".join([*rows, *failures(measured)])


def failures(measured: Measured) -> list[str]:
    """What failed: by reason, the questions."""
    failed: dict[str, list[str]] = {}
    for weights, comparisons in measured.items():
        for name, compared in comparisons.items():
            for way, variant in compared.items():
                if variant.status == "failed":
                    failed.setdefault(f"ours{weights}, {WAYS[way]}: {variant.error}", []).append(name)
    return [f"- failed: {reason}: {named(questions)}" for reason, questions in failed.items()]


def gains_section(measured: Measured) -> str:
    """What the reflection brings against each other way, on the same questions."""
    rows = [
        "| reflection against | questions that it was needed for | recall@10, all | recall@10, these | nDCG@10, all "
        "| worse on | worse where the first search had all |",
        "|---" * 7 + "|",
    ]
    for weights, comparisons in measured.items():
        again = [each for each in comparisons.values() if each["reflection"].passes > 1]
        for way, name in WAYS.items():
            if way == "reflection":
                continue
            every, these = gained(comparisons.values(), way), gained(again, way)
            worse = [name for name, each in comparisons.items() if (recall_gain(each, way) or 0) < 0]
            had_all = [name for name in worse if comparisons[name]["none"].recall == 1]
            ndcg = [difference(each["reflection"].ndcg, each[way].ndcg) for each in comparisons.values()]
            cells = [percent(every, "+"), percent(these, "+"), percent(mean_figure(ndcg), "+")]
            rows.append(f"| {name}{weights} | {len(again)} | {' | '.join(cells)} | {named(worse)} | {named(had_all)} |")
    return "\n".join(rows)


def named(questions: Sequence[str]) -> str:
    """How many questions, and which."""
    return f"{len(questions)}: {', '.join(questions)}" if questions else "0"


def recall_gain(compared: Comparison, way: Way) -> float | None:
    """How much more of what is relevant the reflection's answer cites than another way's."""
    return difference(compared["reflection"].recall, compared[way].recall)


def gained(comparisons: Collection[Comparison], way: Way) -> Figure:
    """The same as a mean."""
    return mean_figure([recall_gain(compared, way) for compared in comparisons])


def ingest_section(took: Ingest, records: int) -> str:
    """How long reading so many records took."""
    vectors = "-" if took.vectors is None else f"{took.vectors:.1f}"
    first, again = (
        f"{seconds:.2f} | {'met' if seconds < target else 'missed'}"
        for seconds, target in zip((took.first, took.again), INGEST_TARGETS, strict=True)
    )
    return "\n".join(
        [
            f"| reading {records} records, seconds | searchable | under {INGEST_TARGETS[0]:.0f} s | the same again "
            f"| under {INGEST_TARGETS[1]:.0f} s | vectors |",
            "|---" * 6 + "|",
            f"| | {first} | {again} | {vectors} |",
        ]
    )
