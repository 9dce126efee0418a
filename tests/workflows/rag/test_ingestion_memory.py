"""Memory does not grow with the corpus."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest

from loopwright.retrieval.stores import open_store
from loopwright.testing import run_in_process
from loopwright.workflows.rag.sources import ingest

WORDS = "Orion Group makes paper in Oslo and sells it to Arden Mills of London every year since then . ".split()


def megabytes_to_ingest(source: str, target: str) -> tuple[int, float]:
    """Documents that were stored, and the peak of the process's memory in megabytes."""
    with open_store(f"sqlite:{target}") as store:
        stored = ingest([Path(source)], store).progress.stored
    return stored, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def corpus(path: Path, count: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            text = " ".join(WORDS[(n + i) % len(WORDS)] for i in range(400))
            file.write(json.dumps({"id": f"r{n}", "title": f"Record {n}", "text": text}) + "\n")
    return path


@pytest.mark.slow
def test_memory_is_flat(tmp_path):
    peaks = []
    for count in (300, 3_000):
        source = corpus(tmp_path / f"{count}.jsonl", count)
        stored, peak = run_in_process(
            megabytes_to_ingest, str(source), str(tmp_path / f"{count}.db"), timeout=150
        ).require()
        assert stored == count
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 60  # the page cache of the database may fill; 2,700 more documents weigh over 200 MB
