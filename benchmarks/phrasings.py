"""Documents and pictures on ordinary ways of asking, judged by the program that lies beside each set of questions.

    python benchmarks/phrasings.py [rag rag-2 iqa iqa-2] [--write]

The sets lie in ``../shared/data/phrasings`` and are no part of the project. All are **seen**: failures of each were
read, and rules, examples and thresholds were chosen by their figures. No model and no weights. Of documents, what
``score.py`` calls honest is only that an answer does not call itself one where the documents have none, which who never
answers reaches best; so it stands beside how many answers call themselves answered, and how many of these are wrong.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import math
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import arguments, finish, machine

from loopwright.errors import LoopwrightError

TITLE = "Documents and pictures: ordinary ways of asking"
SETS = Path(__file__).resolve().parents[2] / "shared" / "data" / "phrasings"
PROGRAM = str(Path(sys.executable).with_name("loopwright"))
NO_WEIGHTS = "rag: {retrieval: {embedding: null, reranker: null}}\n"


def scorer(name: str) -> Any:
    """The module that judges the answers to a set.

    Raises:
        SystemExit: If the set is not there.
    """
    path = SETS / name / "score.py"
    spec = importlib.util.spec_from_file_location(f"score_{name}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(f"skipped: there is no {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def questions(name: str) -> list[dict[str, Any]]:
    """The questions of a set."""
    lines = (SETS / name / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def of(part: int, whole: int) -> str:
    """A count, with its share and Wilson's 95 % interval in percent."""
    if not whole:
        return "none"
    share, z = part / whole, 1.96
    middle = share + z * z / (2 * whole)
    apart = z * math.sqrt(share * (1 - share) / whole + (z / (2 * whole)) ** 2)
    low, high = (max(0.0, middle + side * apart) / (1 + z * z / whole) * 100 for side in (-1, 1))
    return f"{part} of {whole}: {share * 100:.1f} [{low:.0f}, {high:.0f}]"


def documents(name: str) -> str:
    """The row of a set about documents."""
    score, asked = scorer(name), questions(name)
    by_id = {item["id"]: item for item in asked}
    top, *_ = score.baseline(asked, score.HERE / "docs")
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "no-weights.yaml"
        config.write_text(NO_WEIGHTS, encoding="utf-8")
        options = ["--store", f"sqlite:{folder}/knowledge.db", "--config", str(config)]
        score.run([PROGRAM, "rag", "ingest", str(score.HERE / "docs"), *options], cwd=folder).check_returncode()
        single = [item for item in asked if not item.get("after")]
        replies = score.ask_fast(PROGRAM, options[1], str(config), single, folder)
        for item in asked:
            if item["id"] not in replies:
                before = [each["question"] for each in earlier(item, by_id)]
                replies[item["id"]] = score.ask(PROGRAM, options, item["question"], before, folder)
        judged = [score.judge(item, replies[item["id"]]) for item in asked]
    known = [row for row in judged if "supported" in row]
    unknown = [row for row in judged if "honest" in row]
    claimed = [row for row in known if row["status"] == "answered"]
    cells = [
        of(sum(row["supported"] for row in known), len(known)),
        str(top["all"]["supported@3"]),
        of(len(claimed), len(known)),
        of(sum(row["wrong"] for row in claimed), len(claimed)),
        str(sum(row["best_effort_wrong"] for row in known)),
        str(sum(row["false_unknown"] for row in known)),
        of(sum(row["honest"] for row in unknown), len(unknown)),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def earlier(item: dict[str, Any], by_id: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The turns before one, in order."""
    if item.get("after"):
        yield from earlier(by_id[item["after"]], by_id)
        yield by_id[item["after"]]


def pictures(name: str) -> str:
    """The row of a set about pictures."""
    # Not above: the assistant's benchmark imports this file.
    from loopwright.workflows.iqa import IQAConfig, Services, run_pipeline

    score, asked = scorer(name), questions(name)
    config = IQAConfig()
    states: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, Services.of(config) as services:
        made = [sys.executable, str(score.HERE / "make_images.py"), folder, *sorted({row["image"] for row in asked})]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        for row in asked:
            reference = (score.HERE / row["reference"]).resolve() if "reference" in row else None
            try:
                state = run_pipeline(
                    row["question"], Path(folder) / row["image"], reference, config=config, services=services
                )
                summary = state.get("summarizer_result")
                text, passes = summary.final_answer if summary else "", state.get("iteration_count") or 0
            except LoopwrightError as error:
                text, passes = str(error), 0
            states[score.judge(row["expect"], text, passes)[0]] += 1
    cells = [of(states["ok"], len(asked)), of(states["embarrassing"], len(asked)), str(states["failed"])]
    return f"| {name} | {' | '.join(cells)} |"


def report(names: list[str]) -> str:
    """Ask, and show the figures as Markdown."""
    logging.getLogger("loopwright").setLevel(logging.ERROR)
    tables: list[str] = []
    if texts := [documents(name) for name in names if name.startswith("rag")]:
        head = (
            "| seen questions to documents | supported | BM25's three best paragraphs | called answered "
            "| of these wrong | not sure, and wrong | said to be unknown, and is not "
            "| unanswerable, and not called answered |"
        )
        tables.append("\n".join([head, "|---" * 8 + "|", *texts]))
    if images := [pictures(name) for name in names if name.startswith("iqa")]:
        head = "| seen questions to pictures | ok | embarrassing | no answer |"
        tables.append("\n".join([head, "|---" * 4 + "|", *images]))
    return "\n\n".join(
        [*tables, f"{machine()}; no model, no weights. Shares in percent, with Wilson's 95 % intervals."]
    )


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("sets", nargs="*", default=["rag", "rag-2", "iqa", "iqa-2"], help="which sets")
    given = parser.parse_args()
    finish(TITLE, report(given.sets), given.write)
