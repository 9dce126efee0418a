"""Rankings of BM25 by the package bm25s, with stemming and stop words as its documentation has them.

    python bm25s_search.py CORPUS QUESTIONS K

Prints one JSON object: the packages' versions, and for each question the ids of the K best documents.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import bm25s
import Stemmer


def lines(path: str) -> list[dict]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    corpus, questions, k = lines(sys.argv[1]), lines(sys.argv[2]), int(sys.argv[3])
    stemmer = Stemmer.Stemmer("english")
    texts = [f"{document['title']}\n{document['text']}" for document in corpus]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    asked = bm25s.tokenize(
        [question["question"] for question in questions], stopwords="en", stemmer=stemmer, show_progress=False
    )
    found, _ = index.retrieve(asked, k=min(k, len(corpus)), show_progress=False)
    print(
        json.dumps(
            {
                "versions": {name: version(name) for name in ("bm25s", "PyStemmer")},
                "rankings": {
                    question["id"]: [corpus[place]["id"] for place in row]
                    for question, row in zip(questions, found.tolist(), strict=True)
                },
            }
        )
    )
