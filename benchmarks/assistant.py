"""The conference assistant: what its answers cite, whether thinking again helps, and how long reading a schedule takes.

    python benchmarks/assistant.py [--labels FILE --schedule FILE --stands FILE] [--store FILE] [--quick] [--write]

By default the questions are ``data/assistant_fosdem_2025.jsonl`` and the conference is that of
``../shared/data/fosdem``. Every question is answered in four ways: by the first search alone, with the mechanical
retry, with the reflection, and by one wide search that has as many queries as the reflection took. They run beside BM25
by bm25s (in an environment of its own, made once in the user's cache folder), dense vectors alone, and the two fused;
these rank records, while ours are measured by what the answer cites. The weights are those that ``loopwright models``
finds, for example in ``.models``; without them the variants that need them are named as not measured. ``--quick`` takes
every seventh question and leaves the weights out. ``--store`` keeps the conference with its vectors in a file, so that
a second run need not embed it again; vectors that are there already are not timed.
"""

from __future__ import annotations

import json
import logging
import tempfile
import time
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from assistant_tables import Ingest, Measured, gains_section, ingest_section, recall_section
from assistant_ways import Variant, Way, compare, opened
from common import arguments, finish, machine
from labelled import assistant_questions, judged_tables, rows_of
from rag_peers import DEPTH, Peers, Rankings, measure_peers

from loopwright.errors import WeightsError
from loopwright.models.embedded.encoder import OnnxEmbedder, open_embedder
from loopwright.retrieval.stores import KnowledgeStore, open_store
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.schemas import Record
from loopwright.workflows.assistant.sources.catalogue import Catalogue, current
from loopwright.workflows.assistant.sources.ingesting import embed_all, ingest

HERE = Path(__file__).resolve().parent
FOSDEM = HERE.parents[1] / "shared" / "data" / "fosdem"
LABELS = HERE / "data" / "assistant_fosdem_2025.jsonl"
EMBEDDING = "bge-small-en-v1.5"
QUICK = 7
"""In a short run, every so many-th question."""


class Conference:
    """The conference in a store, and the questions about it."""

    def __init__(self, store: KnowledgeStore, schedule: Path, stands: Path | None, labels: Path, every: int) -> None:
        self.store = store
        began = time.perf_counter()
        ingest(store, schedule, exhibitors=stands)
        read = time.perf_counter()
        ingest(store, schedule, exhibitors=stands)
        self.ingest = Ingest(first=read - began, again=time.perf_counter() - read)
        rows = rows_of(labels)
        self.labels = assistant_questions(rows)[::every]
        self.tables = judged_tables(rows)
        lost = {
            name for label in self.labels for name in label.expected.citations or ()
        } - self.catalogue.records.keys()
        if lost:
            raise SystemExit(f"{labels.name} does not belong to {schedule.name}, which has no {sorted(lost)[0]}")

    @property
    def catalogue(self) -> Catalogue:
        """All records."""
        return current(self.store)

    @property
    def judged(self) -> list[Record]:
        """The records that the labels are about; only these are ranked by the peers."""
        return [record for table in self.tables for record in self.catalogue.of_table(table)]

    def embed(self, embedder: OnnxEmbedder) -> None:
        """Fill the vectors."""
        began = time.perf_counter()
        if embed_all(self.store, embedder):
            self.ingest.vectors = time.perf_counter() - began

    def compared(self, embedding: str | None) -> dict[str, dict[Way, Variant]]:
        """Every question in every way."""
        config = AssistantConfig.model_validate({"assistant": {"search": {"embedding": embedding}}})
        services = opened(config, self.store)
        try:
            return {
                label.id: compare(
                    label.input["message"],
                    services,
                    label.expected.citations or (),
                    self.tables,
                    datetime.fromisoformat(now) if (now := label.input["user_context"].get("now")) else None,
                )
                for label in self.labels
            }
        finally:
            for each in services.values():
                each.close()

    def dense(self, embedder: OnnxEmbedder) -> Rankings:
        """What vectors alone find: records by their best passage."""
        known = {record.id for record in self.judged}

        def ranked(question: str) -> list[str]:
            hits = self.store.search_vector(embedder.embed_query(question), 10 * DEPTH, model=embedder.model)
            found = dict.fromkeys(hit.passage_id.rpartition("::")[0] for hit in hits)
            return [record for record in found if record in known][:DEPTH]

        return {label.id: ranked(label.input["message"]) for label in self.labels}

    def peers(self, folder: Path, embedder: OnnxEmbedder | None) -> Peers:
        """BM25, vectors and both, over all that the records say."""
        corpus, asked = folder / "corpus.jsonl", folder / "questions.jsonl"
        corpus.write_text("\n".join(json.dumps(as_text(record)) for record in self.judged), encoding="utf-8")
        questions = [{"id": label.id, "question": label.input["message"]} for label in self.labels]
        asked.write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
        return measure_peers(corpus, asked, self.dense(embedder) if embedder else None)


def as_text(record: Record) -> dict[str, str]:
    """A record as one text, with its room, track and persons; nothing twice."""
    fields = (value for values in record.fields.values() for value in values)
    said = dict.fromkeys([record.title, *record.texts.values(), *fields])
    return {"id": record.id, "title": record.title, "text": "\n".join([*said][1:])}


def weights(quick: bool) -> tuple[OnnxEmbedder | None, str]:
    """The embedding model, or why it is not there."""
    if quick:
        return None, "left out of a short run"
    try:
        return open_embedder(EMBEDDING), ""
    except WeightsError as reason:
        return None, str(reason)


def report(labels: Path, schedule: Path, stands: Path | None, quick: bool, kept: Path | None = None) -> tuple[str, str]:
    """Measure, and give a title and the figures as Markdown.

    Raises:
        SystemExit: If the conference or the questions are not there.
    """
    for path in (labels, schedule, *([stands] if stands else [])):
        if not path.is_file():
            raise SystemExit(f"skipped: there is no {path}")
    logging.getLogger("loopwright").setLevel(logging.ERROR)
    embedder, why = weights(quick)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with open_store(f"sqlite:{kept or folder / 'conference.db'}") as store:
            conference = Conference(store, schedule, stands, labels, QUICK if quick else 1)
            info = conference.catalogue.info
            measured: Measured = {"": conference.compared(None)}
            if embedder:
                conference.embed(embedder)
                measured[" with embedding"] = conference.compared(EMBEDDING)
            peers = conference.peers(folder, embedder)
            sections = [recall_section(conference.labels, len(conference.judged), peers, measured)]
            if why:
                sections[0] += f"\n- not measured: all that needs weights: {why}"
            sections += [
                gains_section(measured),
                ingest_section(conference.ingest, len(conference.catalogue.records)),
            ]
    packages = {**peers.versions, **{name: version(name) for name in ("numpy", "onnxruntime")}}
    listed = ", ".join(f"{name} {number}" for name, number in packages.items())
    sections.append(
        f"{labels.name} on {schedule.name}. {machine()}, {listed}. Shares and their differences in percent with 95 % "
        f"bootstrap intervals over questions; wall time{'; a short run' if quick else ''}."
    )
    return f"Conference assistant: {info.title if info else schedule.name}", "\n\n".join(sections)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--labels", type=Path, default=LABELS, help="JSONL: id, question, relevant, kind, now")
    parser.add_argument("--schedule", type=Path, help="the schedule; by default that of FOSDEM 2025, with its stands")
    parser.add_argument("--stands", type=Path, help="the exhibitors")
    parser.add_argument("--store", type=Path, help="keeps the conference and its vectors in this SQLite file")
    parser.add_argument("--quick", action="store_true", help="a short run")
    given = parser.parse_args()
    if given.schedule is None:
        given.schedule, given.stands = FOSDEM / "schedule-2025.xml", given.stands or FOSDEM / "stands.json"
    title, section = report(given.labels, given.schedule, given.stands, given.quick, given.store)
    finish(title, section, given.write)
