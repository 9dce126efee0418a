"""Question answering: what is found, how right the answers are, and how long ingesting and asking take.

    python benchmarks/rag.py [--quick] [--write]

The questions and corpora are those of ``../shared/data/qa`` (HotpotQA and MuSiQue); without them nothing is measured.
Retrieval runs beside BM25 by bm25s (in an environment of its own, made once in the user's cache folder), dense vectors
alone, and the two fused. The weights are those that ``loopwright models`` finds, for example in ``.models``; without
them the variants that need them are named as not measured. Latency is of retrieval alone, without weights, on
synthetic passages that are made of the corpora's sentences. ``--quick`` takes ten questions of each set and leaves out
the answers with weights, the runs without each loop, and the 100,000 passages.
"""

from __future__ import annotations

import json
import logging
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from common import arguments, finish, machine
from labelled import rag_questions, rows_of
from rag_peers import DEPTH, Peers, Rankings, measure_peers

from loopwright.errors import WeightsError
from loopwright.models.embedded.encoder import OnnxEmbedder, open_embedder, open_reranker
from loopwright.retrieval.records import Hit
from loopwright.retrieval.retriever import Retriever
from loopwright.retrieval.stores import KnowledgeStore, open_store
from loopwright.workflows.evaluation import Evaluation, Figure, evaluate, mean_figure
from loopwright.workflows.rag.answer.sentences import sentence_spans
from loopwright.workflows.rag.config import RAGConfig
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.sources import fill_vectors, ingest
from loopwright.workflows.rag.workflow import RagWorkflow

TITLE = "Question answering"
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "qa"
SETS = {"hotpotqa": "HotpotQA", "musique": "MuSiQue"}
CUTOFFS = (2, 5, 10)
EMBEDDING, RERANKER = "bge-small-en-v1.5", "ms-marco-MiniLM-L-12-v2"
SIZES = (2_000, 100_000)
TARGETS = {2_000: 50.0, 100_000: 300.0}
"""Passages -> milliseconds that the 95th percentile of retrieval may take."""
QUICK = 10
"""Questions of each set in a short run."""


def percent(figure: Figure) -> str:
    """A share with its interval."""
    if figure.value is None or figure.low is None or figure.high is None:
        return "-"
    return f"{figure.value * 100:.1f} [{figure.low * 100:.0f}, {figure.high * 100:.0f}]"


def retrieval_cells(questions: Sequence[dict], rankings: Rankings) -> list[str]:
    """recall@2, @5, @10 and all-gold@5 of rankings, each with its 95 % bootstrap interval."""
    shares = {
        k: [len(set(asked["gold"]).intersection(rankings[asked["id"]][:k])) / len(asked["gold"]) for asked in questions]
        for k in CUTOFFS
    }
    figures = [*(mean_figure(values) for values in shares.values()), mean_figure([float(x == 1) for x in shares[5]])]
    return [percent(figure) for figure in figures]


def documents_of(hits: Sequence[Hit]) -> list[str]:
    """The document of each passage that a search found; two passages of one count twice."""
    return [hit.passage_id.rpartition("::")[0] for hit in hits]


class Corpus:
    """One data set in a store of its own, with what was measured on the way."""

    def __init__(self, name: str, folder: Path, embedder: OnnxEmbedder | None, limit: int | None) -> None:
        self.name = name
        self.corpus = DATA / f"{name}.corpus.jsonl"
        self.questions = rows_of(DATA / f"{name}.questions.jsonl", limit)
        self.asked = folder / f"{name}.questions.jsonl"
        self.asked.write_text("\n".join(map(json.dumps, self.questions)), encoding="utf-8")
        self.store: KnowledgeStore = open_store(f"sqlite:{folder / name}.db")
        began = time.perf_counter()
        ingest([self.corpus], self.store)
        ingested = time.perf_counter()
        vectors = fill_vectors(self.store, embedder) if embedder else 0
        self.passages = self.store.stats().passages
        self.ingest_per_1000 = (ingested - began) / self.passages * 1000
        self.vectors_per_1000 = (time.perf_counter() - ingested) / vectors * 1000 if vectors else None
        self.key = {document.id: document.id.rpartition("#")[2] for document in self.store.documents()}

    def rankings(self, search: Callable[[str], Sequence[str]]) -> Rankings:
        """What a search finds, as ids of the corpus; it gives document ids."""
        return {asked["id"]: [self.key[found] for found in search(asked["question"])] for asked in self.questions}

    def lexical(self, query: str) -> list[str]:
        """BM25 of the store alone."""
        return documents_of(self.store.search_text(query, max(CUTOFFS)))

    def retrieved(self, retriever: Retriever) -> Rankings:
        """What the hybrid retriever finds."""
        return self.rankings(lambda query: [found.document_id for found in retriever.retrieve(query, max(CUTOFFS))])

    def dense(self, embedder: OnnxEmbedder) -> Rankings:
        """What vectors alone find."""

        def search(query: str) -> list[str]:
            return documents_of(self.store.search_vector(embedder.embed_query(query), DEPTH, model=embedder.model))

        return self.rankings(search)


def weights() -> tuple[OnnxEmbedder | None, str]:
    """The embedding model, or why one of the two is not there."""
    try:
        open_reranker(RERANKER)
        return open_embedder(EMBEDDING), ""
    except WeightsError as reason:
        return None, str(reason)


def retrieval_section(data: Corpus, embedder: OnnxEmbedder | None) -> tuple[str, Peers]:
    """The table of one data set."""
    peers = measure_peers(data.corpus, data.asked, data.dense(embedder) if embedder else None)
    ours = {
        "ours, lexical alone": data.rankings(data.lexical),
        "ours, without weights": data.retrieved(Retriever(data.store)),
    }
    if embedder:
        ours["ours, embedding"] = data.retrieved(Retriever(data.store, embedder=embedder))
    rows = [
        f"| {SETS[data.name]}, {len(data.questions)} questions, {data.passages} passages | recall@2 | recall@5 | "
        "recall@10 | all gold@5 |",
        "|---|---|---|---|---|",
    ]
    for name, rankings in (peers.rankings | ours).items():
        rows.append(f"| {name} | {' | '.join(retrieval_cells(data.questions, rankings))} |")
    return "\n".join([*rows, *(f"- not measured: {name}: {why}" for name, why in peers.missing.items())]), peers


def answers(data: Corpus, config: RAGConfig, loops: bool) -> Evaluation:
    """Ask the questions; the corpus is in the store already."""
    with Services.of(config, data.store) as services:
        return evaluate(RagWorkflow(services), rag_questions(data.questions), without_loops=loops, at_once=1)


def answer_section(corpora: Sequence[Corpus], with_weights: bool, loops: bool) -> str:
    """How right the embedded reader's answers are, and what each loop brings."""
    models: dict[str, tuple[str | None, str | None]] = {"without weights": (None, None)}
    if with_weights:
        models["embedding and reranker"] = (EMBEDDING, RERANKER)
    variants = {
        name: RAGConfig.load(None, {"rag.retrieval.embedding": embedding, "rag.retrieval.reranker": reranker}, {})
        for name, (embedding, reranker) in models.items()
    }
    names = ("em", "f1", "citation_precision", "citation_recall", "abstained")
    rows = [f"| answers, embedded reader | {' | '.join(name.replace('_', ' ') for name in names)} | s per question |"]
    rows.append("|---" * (len(names) + 2) + "|")
    gains = ["| loop | passes | adds s per question | recall of the run | em | f1 |", "|---|---|---|---|---|---|"]
    for data in corpora:
        for variant, config in variants.items():
            found = answers(data, config, loops and variant == "without weights")
            cells = " | ".join(percent(found.figures[name]) for name in names)
            rows.append(f"| {SETS[data.name]}, {variant} | {cells} | {found.figures['seconds'].value:.2f} |")
            for loop, gain in found.loops.items():
                brought = " | ".join(percent(gain.gains[name]) for name in ("gathered_recall", "em", "f1"))
                seconds = gain.gains["seconds"].value
                gains.append(f"| {SETS[data.name]}, {loop} | {gain.passes} | {seconds:.2f} | {brought} |")
    return "\n".join(rows) + ("\n\n" + "\n".join(gains) if loops else "")


def synthetic(path: Path, count: int) -> None:
    """Write passages that are made of the corpora's sentences, shuffled; the same each time."""
    documents = [row for name in SETS for row in rows_of(DATA / f"{name}.corpus.jsonl")]
    pool = [row["text"][start:end] for row in documents for start, end in sentence_spans(row["text"])]
    draw = random.Random(count)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            title = f"{draw.choice(documents)['title']} {number}"
            text = " ".join(draw.choices(pool, k=4))
            file.write(json.dumps({"id": f"s{number}", "title": title, "text": text}) + "\n")


def latency_section(questions: Sequence[str], sizes: Sequence[int], folder: Path) -> str:
    """How long retrieval alone takes, and how long it took to ingest the passages."""
    rows = [
        "| retrieval without weights | ms, p50 | p95 | first, s | target of p95 | | ingest, s |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in sizes:
        path = folder / f"synthetic-{size}.jsonl"
        synthetic(path, size)
        with open_store(f"sqlite:{folder / f'synthetic-{size}.db'}") as store:
            began = time.perf_counter()
            ingest([path], store)
            ingested = time.perf_counter() - began
            retriever = Retriever(store)
            passages = store.stats().passages
            first, *times = latencies(retriever, ["warm up", *questions])
        cuts = statistics.quantiles([seconds * 1000 for seconds in times], n=20, method="inclusive")
        met = "met" if cuts[18] <= TARGETS[size] else "missed"
        rows.append(
            f"| {passages:,} passages | {cuts[9]:.1f} | {cuts[18]:.1f} | {first:.2f} | {TARGETS[size]:.0f} ms | {met} "
            f"| {ingested:.1f} |"
        )
    return "\n".join(rows)


def latencies(retriever: Retriever, queries: Sequence[str]) -> list[float]:
    """Seconds of wall time of each query in turn."""
    seconds: list[float] = []
    for query in queries:
        began = time.perf_counter()
        retriever.retrieve(query, 5)
        seconds.append(time.perf_counter() - began)
    return seconds


def report(quick: bool) -> str:
    """Measure, and show the figures as Markdown.

    Raises:
        SystemExit: If the data is not there.
    """
    if not DATA.is_dir():
        raise SystemExit("skipped: there is no ../shared/data/qa beside the project")
    logging.getLogger("loopwright").setLevel(logging.ERROR)
    embedder, why = weights()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        corpora = [Corpus(name, folder, embedder, QUICK if quick else None) for name in SETS]
        tables = [retrieval_section(data, embedder) for data in corpora]
        sections = [table for table, _ in tables]
        if why:
            sections.append(f"- not measured: all that needs weights: {why}")
        sections.append(answer_section(corpora, bool(embedder) and not quick, loops=not quick))
        rows = ["| ingest, seconds per 1,000 passages | searchable by words and graph | vectors |", "|---|---|---|"]
        for data in corpora:
            filled = "-" if data.vectors_per_1000 is None else f"{data.vectors_per_1000:.1f}"
            rows.append(f"| {SETS[data.name]} | {data.ingest_per_1000:.1f} | {filled} |")
        sections.append("\n".join(rows))
        questions = [asked["question"] for data in corpora for asked in data.questions]
        sections.append(latency_section(questions, SIZES[:1] if quick else SIZES, folder))
        for data in corpora:
            data.store.close()
    packages = {**tables[0][1].versions, **{name: version(name) for name in ("numpy", "sqlalchemy", "onnxruntime")}}
    listed = ", ".join(f"{name} {number}" for name, number in packages.items())
    sections.append(
        f"{machine()}, {listed}. Shares in percent with 95 % bootstrap intervals over questions; seconds and "
        f"milliseconds of wall time{'; a short run' if quick else ''}."
    )
    return "\n\n".join(sections)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run")
    given = parser.parse_args()
    finish(TITLE, report(given.quick), given.write)
