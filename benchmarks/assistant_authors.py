"""The conference assistant on the questions of three authors, who also wrote the conferences and what is right.

    python benchmarks/assistant_authors.py [--failures] [--write]

All of it is **seen**: every failure was read on 2026-11-28 and mended, and sentences like these stand among the
classifiers' examples (``workflows/assistant/data``). So the figures say whether something got worse, and nothing of
strangers; what the sets' first runs brought, before any failure was read, is in RESULTS.md. Words alone.

Of an expectation ``must`` are records that must be cited, ``any`` of which one must be, ``no`` that must not, ``ok``
that may (``only``: nothing else may), ``say`` and ``unsay`` patterns of the answer, ``status`` how it may end.
``aimed.json`` was written at the faults that ``questions.json`` beside it showed.
"""

from __future__ import annotations

import csv
import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, finish, machine

from loopwright.errors import LoopwrightError
from loopwright.retrieval.stores import open_store
from loopwright.workflows.assistant import AssistantConfig, ChatResult, Services, chat
from loopwright.workflows.assistant.sources.ingesting import ingest

TITLE = "Conference assistant: the questions of three authors"
DATA = Path(__file__).parent / "data"
VERDICTS = ("ok", "partial", "wrong", "embarrassing")
RESAMPLES = 2000
CONFERENCES = {
    "H": ("harbour.csv", "harbour_exhibitors.csv", "Europe/Amsterdam", "2027-06-01T12:00:00+02:00"),
    "M": ("alpine.json", "alpine_exhibitors.json", "Europe/Vienna", "2027-09-10T12:00:00+02:00"),
    "N": ("north.csv", "north_exhibitors.csv", "Europe/Oslo", "2027-09-20T12:00:00+02:00"),
    "S": ("south.json", "south_exhibitors.json", "Europe/Lisbon", "2027-03-01T12:00:00+00:00"),
    "E": ("east.csv", "east_exhibitors.csv", "Europe/Zurich", "2028-05-01T12:00:00+02:00"),
    "W": ("west.json", "west_exhibitors.json", "Europe/Dublin", "2028-06-01T12:00:00+01:00"),
}
"""Name -> schedule, exhibitors, time zone, and the moment of asking where a question names none."""
SETS = (
    *("fourth_author/questions.json", "fourth_author/aimed.json"),
    *("fifth_author/questions.json", "sixth_author/questions.json"),
)


def keys_of(exhibitors: Path) -> dict[str, str]:
    """Exhibitor's name, as the assistant cites it -> the id in the expectations."""
    text = exhibitors.read_text(encoding="utf-8")
    rows = json.loads(text) if exhibitors.suffix == ".json" else list(csv.DictReader(text.splitlines()))
    return {row.get("Company") or row["name"]: row["id"] for row in rows}


def judged(expected: dict[str, Any], result: ChatResult, names: dict[str, str]) -> str:
    """One of `VERDICTS`.

    Embarrassing is an answer that cites what is excluded, or that claims to answer by records where none is right: more
    is not told by these expectations, so the word is narrower than in `assistant_phrasings.py`.
    """
    cited = [key.split(":", 1) for key in result.referenced_ids if not key.startswith("speakers:")]
    ids = [names.get(key, key) for _table, key in cited]
    must, any_of = expected.get("must", []), expected.get("any", [])
    fine = {*must, *any_of, *expected.get("ok", [])}
    missing = [each for each in must if each not in ids]
    said = re.search(expected.get("say", ""), result.answer, re.IGNORECASE | re.DOTALL)
    unsaid = not expected.get("unsay") or not re.search(expected["unsay"], result.answer, re.IGNORECASE | re.DOTALL)
    others = bool(expected.get("only")) and any(each not in fine for each in ids)
    status = result.status != "failed" and result.status in expected.get("status", [result.status])
    none = bool(any_of) and not {*any_of} & {*ids}
    needless = others and not must and not any_of
    if {*expected.get("no", [])} & {*ids} or (needless and result.status == "answered"):
        return "embarrassing"
    if not (missing or none or others) and said and unsaid and status:
        return "ok"
    lost = bool(must) and len(missing) == len(must)
    # What is said beside the right records decides: a false "no" is wrong, whatever is cited.
    return "wrong" if lost or none or needless or not (status and said and unsaid) else "partial"


def asked(file: str, failures: bool) -> dict[str, list[list[str]]]:
    """Ask all questions of a file; kind -> the verdicts of each question or chat."""
    folder = (DATA / file).parent
    questions = json.loads((DATA / file).read_text(encoding="utf-8"))
    chats = [(each["p"], each.get("now"), [each]) for each in questions["singles"]]
    chats += [(each["p"], each["now"], each["turns"]) for each in questions["chats"]]
    found: dict[str, list[list[str]]] = {"single questions": [], "turns of chats": []}
    for name in sorted({each[0] for each in chats}):
        schedule, exhibitors, zone, usual = CONFERENCES[name]
        with open_store("memory") as store:
            ingest(store, folder / schedule, exhibitors=folder / exhibitors, time_zone=zone)
            with Services.of(AssistantConfig(), store) as services:
                for number, (_, now, turns) in enumerate(each for each in chats if each[0] == name):
                    context: dict[str, Any] = {"now": now or usual}
                    if len(turns) > 1:
                        context |= {"user_id": "author", "conversation_id": f"{file} {number}"}
                    verdicts: list[str] = []
                    for expected in turns:
                        try:
                            result = chat(expected["q"], user_context=context, services=services)
                        except LoopwrightError as error:
                            verdicts.append("wrong")
                            print(f"[failed] {expected['q']}\n{error}\n")
                            continue
                        verdicts.append(judged(expected, result, keys_of(folder / exhibitors)))
                        if failures and verdicts[-1] != "ok":
                            print(f"[{verdicts[-1]}] {expected['q']}\n{result.status}: {result.answer}\n")
                    found["turns of chats" if len(turns) > 1 else "single questions"].append(verdicts)
    return found


def share(groups: Sequence[Sequence[str]], verdict: str) -> str:
    """Percent of the answers with a verdict, and its 95 % bootstrap interval; turns of one chat are drawn together."""
    hits = np.array([sum(each == verdict for each in group) for group in groups])
    sizes = np.array([len(group) for group in groups])
    draws = np.random.default_rng(0).integers(0, len(groups), (RESAMPLES, len(groups)))
    low, high = np.quantile(hits[draws].sum(1) / sizes[draws].sum(1), (0.025, 0.975)) * 100
    return f"{hits.sum() / sizes.sum() * 100:.0f} [{low:.0f}, {high:.0f}]"


def main() -> None:
    """Ask all sets and say how many answers are right."""
    parser = arguments(__doc__)
    parser.add_argument("--failures", action="store_true", help="show each answer that is not right")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    rows = ["| seen questions | n | right, % | in part, % | wrong, % | embarrassing, % |", "|---|---|---|---|---|---|"]
    for file in SETS:
        for kind, groups in asked(file, given.failures).items():
            cells = " | ".join(share(groups, verdict) for verdict in VERDICTS)
            rows.append(f"| {file}, {kind} | {sum(map(len, groups))} | {cells} |")
    tables = "\n".join([*rows, "", f"{machine()}. 95 % bootstrap intervals over questions, of turns over whole chats."])
    finish(TITLE, tables, given.write)


if __name__ == "__main__":
    main()
