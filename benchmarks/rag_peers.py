"""Rankings to compare retrieval with: BM25 by bm25s, dense vectors alone, and the two fused by reciprocal rank."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peers import WORKERS, Package, Unmeasured, environment, last_line

from loopwright.retrieval.retriever import reciprocal_rank_fusion

BM25S = Package("bm25s[stem]", "0.3.16", "-", "MIT")
"""BM25 in NumPy; the extra is PyStemmer."""
DEPTH = 100
"""So many passages of each ranking are fused."""

Rankings = dict[str, list[str]]
"""Question id -> ids of the corpus, best first."""


@dataclass
class Peers:
    """What was measured, and what was not."""

    rankings: dict[str, Rankings] = field(default_factory=dict)
    """Variant -> its rankings."""
    versions: dict[str, str] = field(default_factory=dict)
    """Package -> version."""
    missing: dict[str, str] = field(default_factory=dict)
    """Variant -> why it was not measured."""


def bm25s_rankings(corpus: Path, questions: Path) -> dict[str, Any]:
    """Rankings by bm25s, in an environment of its own.

    Raises:
        Unmeasured: If it cannot be installed or fails.
    """
    python = environment(BM25S)
    command = [str(python), str(WORKERS / "bm25s_search.py"), str(corpus), str(questions), str(DEPTH)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unmeasured(last_line(done.stderr))
    return json.loads(done.stdout)


def measure_peers(corpus: Path, questions: Path, dense: Rankings | None) -> Peers:
    """All rankings that can be had.

    Args:
        corpus: The corpus.
        questions: The questions.
        dense: The rankings by vectors alone; None if the model's files are not here.
    """
    found = Peers()
    try:
        told = bm25s_rankings(corpus, questions)
    except Unmeasured as reason:
        found.missing["bm25s"] = str(reason)
    else:
        found.rankings["bm25s"] = told["rankings"]
        found.versions = told["versions"]
    if dense is not None:
        found.rankings["dense alone"] = dense
    if dense is not None and "bm25s" in found.rankings:
        lexical = found.rankings["bm25s"]
        found.rankings["bm25s + dense, reciprocal rank fusion"] = {
            question: list(reciprocal_rank_fusion([lexical[question], list(dict.fromkeys(order))]))
            for question, order in dense.items()
        }
    return found
