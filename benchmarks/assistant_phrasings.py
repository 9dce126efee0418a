"""The conference assistant on ordinary ways of asking, judged by the schedule alone.

    python benchmarks/assistant_phrasings.py [--store-2025 FILE] [--store-2024 FILE] [--write]

The questions, what is expected of an answer and what "embarrassing" means are those of
``../shared/data/phrasings/assistant``, whose ``score.py`` judges; all are asked in one process, with words alone and,
where the weights are found, with vectors. All of them are **seen**: failures of ids that end in an odd digit were read,
and questions of both halves, even ones too, stand with other names among the classifiers' training examples
(``workflows/assistant/data``). So the figures say whether something got worse, and nothing of strangers.
``--store-YEAR`` keeps a conference with its vectors in a file for another run.
"""

from __future__ import annotations

import json
import logging
import tempfile
from pathlib import Path
from typing import Any

from assistant import EMBEDDING, FOSDEM, weights
from common import arguments, finish, machine
from phrasings import SETS, scorer

from loopwright.errors import LoopwrightError
from loopwright.retrieval.stores import open_store
from loopwright.workflows.assistant import AssistantConfig, Services, chat
from loopwright.workflows.assistant.sources.ingesting import embed_all, ingest

TITLE = "Conference assistant: ordinary ways of asking"
QUESTIONS = {"2025": "questions.jsonl", "2024": "questions-2024.jsonl"}


def asked(year: str, services: Services, score: Any) -> dict[str, tuple[bool, bool, bool]]:
    """Of each question whether the answer is right, embarrassing, and one in part."""
    lines = (SETS / "assistant" / QUESTIONS[year]).read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines if line.strip()]
    sessions = score.read_schedule(FOSDEM / f"schedule-{year}.xml")
    found: dict[str, tuple[bool, bool, bool]] = {}
    for turns in score.conversations(questions):
        before = None
        for turn in turns:
            context = {"now": turn["now"]}
            if len(turns) > 1:
                context |= {"user_id": turns[-1]["id"], "conversation_id": turns[-1]["id"]}
            try:
                result = chat(turn["question"], user_context=context, services=services)
                answer = {"status": result.status, "cited": list(result.referenced_ids), "text": result.answer}
            except LoopwrightError:
                answer = {"status": "error", "cited": [], "text": ""}
            problems = score.judge(turn, answer, sessions, before)
            severe = any(severe for _, severe in problems)
            found.setdefault(turn["id"], (not problems, severe, answer["status"] == "partial"))
            before = answer
    return found


def rows(year: str, store: Path, score: Any) -> list[str]:
    """The rows of one year."""
    embedder, why = weights(quick=False)
    table: list[str] = []
    with open_store(f"sqlite:{store}") as knowledge:
        ingest(knowledge, FOSDEM / f"schedule-{year}.xml", exhibitors=FOSDEM / "stands.json")
        if embedder:
            embed_all(knowledge, embedder)
        for name, embedding in (("words alone", None), *((("and vectors", EMBEDDING),) if embedder else ())):
            config = AssistantConfig.model_validate({"assistant": {"search": {"embedding": embedding}}})
            with Services.of(config, knowledge) as services:
                found = asked(year, services, score)
            for half, digits in (("even", "02468"), ("odd", "13579")):
                own = [each for key, each in found.items() if key[-1] in digits]
                shares = " | ".join(f"{100 * sum(column) / len(own):.1f}" for column in zip(*own, strict=True))
                table.append(f"| {year}, {half}, {name} | {len(own)} | {shares} |")
    return [*table, *([f"- {year} with vectors is not measured: {why}"] if why else [])]


if __name__ == "__main__":
    parser = arguments(__doc__)
    for year in QUESTIONS:
        parser.add_argument(
            f"--store-{year}", type=Path, help="keeps the conference and its vectors in this SQLite file"
        )
    given = parser.parse_args()
    logging.getLogger("loopwright").setLevel(logging.ERROR)
    judging = scorer("assistant")
    lines = ["| seen questions | n | ok % | embarrassing % | in part % |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as temporary:
        for year in QUESTIONS:
            lines += rows(year, getattr(given, f"store_{year}") or Path(temporary) / f"{year}.db", judging)
    finish(TITLE, "\n".join([*lines, "", f"{machine()}; all questions asked in one process."]), given.write)
