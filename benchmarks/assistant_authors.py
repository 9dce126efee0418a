"""The conference assistant on the questions of three more authors, who also wrote the conferences and what is right.

    python benchmarks/assistant_authors.py [--failures]

``questions.json`` was written before any answer was seen, ``aimed.json`` at the faults that it showed; the failures of
all were read on 2026-11-28, so the figures say whether something got worse, and nothing of strangers. Words alone.
Of an expectation ``must`` are records that must be cited, ``any`` of which one must be, ``no`` that must not, ``ok``
that may (``only``: nothing else may), ``say`` and ``unsay`` patterns of the answer, ``status`` how it may end.
"""

from __future__ import annotations

import csv
import json
import logging
import re
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from pathlib import Path
from typing import Any

from common import machine

from loopwright.retrieval.stores import open_store
from loopwright.workflows.assistant import AssistantConfig, ChatResult, Services, chat
from loopwright.workflows.assistant.sources.ingesting import ingest

DATA = Path(__file__).parent / "data"
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
    """``ok``, ``partial``, ``wrong``, or ``embarrassing`` where something that is excluded was listed."""
    cited = [key.split(":", 1) for key in result.referenced_ids if not key.startswith("speakers:")]
    ids = [names.get(key, key) for _table, key in cited]
    must, any_of = expected.get("must", []), expected.get("any", [])
    fine = {*must, *any_of, *expected.get("ok", [])}
    missing = [each for each in must if each not in ids]
    said = re.search(expected.get("say", ""), result.answer, re.IGNORECASE | re.DOTALL)
    unsaid = not expected.get("unsay") or not re.search(expected["unsay"], result.answer, re.IGNORECASE | re.DOTALL)
    others = bool(expected.get("only")) and any(each not in fine for each in ids)
    status = result.status in expected.get("status", [result.status])
    none = bool(any_of) and not {*any_of} & {*ids}
    if {*expected.get("no", [])} & {*ids}:
        return "embarrassing"
    if not (missing or none or others) and said and unsaid and status:
        return "ok"
    lost = bool(must) and len(missing) == len(must)
    return "wrong" if lost or none or not status or (not said and not must) else "partial"


def asked(file: str, failures: bool) -> dict[str, Counter[str]]:
    """Ask all questions of a file; kind -> verdict -> how many."""
    folder = (DATA / file).parent
    questions = json.loads((DATA / file).read_text(encoding="utf-8"))
    chats = [(each["p"], each.get("now"), [each]) for each in questions["singles"]]
    chats += [(each["p"], each["now"], each["turns"]) for each in questions["chats"]]
    found = {"single questions": Counter[str](), "turns of chats": Counter[str]()}
    for name in sorted({each[0] for each in chats}):
        schedule, exhibitors, zone, usual = CONFERENCES[name]
        with open_store("memory") as store:
            ingest(store, folder / schedule, exhibitors=folder / exhibitors, time_zone=zone)
            with Services.of(AssistantConfig(), store) as services:
                for number, (_, now, turns) in enumerate(each for each in chats if each[0] == name):
                    context: dict[str, Any] = {"now": now or usual}
                    if len(turns) > 1:
                        context |= {"user_id": "author", "conversation_id": f"{file} {number}"}
                    for expected in turns:
                        result = chat(expected["q"], user_context=context, services=services)
                        verdict = judged(expected, result, keys_of(folder / exhibitors))
                        found["turns of chats" if len(turns) > 1 else "single questions"][verdict] += 1
                        if failures and verdict != "ok":
                            print(f"[{verdict}] {expected['q']}\n{result.status}: {result.answer}\n")
    return found


def main() -> None:
    """Ask all sets and print how many answers are right."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--failures", action="store_true", help="show each answer that is not right")
    failures = parser.parse_args().failures
    logging.disable(logging.WARNING)
    print("| | n | ok | in part | wrong | embarrassing |\n|---|---|---|---|---|---|")
    for file in SETS:
        for kind, verdicts in asked(file, failures).items():
            counts = [verdicts[each] for each in ("ok", "partial", "wrong", "embarrassing")]
            print(f"| {file}, {kind} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
