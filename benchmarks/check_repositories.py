"""What ``loopwright check`` says of other people's repositories, against what people read in them.

    python benchmarks/check_repositories.py FOLDER [NAME] [--write] [--details]

FOLDER holds one checkout of a public repository per folder (``owner+name``; nothing of them is run), and may hold an
``INDEX.md`` with the truth by reading, a line per graph: "- `path:line name` | acyclic | ...", where the second field
is ``acyclic``, ``agent``, or begins with ``cyclic``. Every call of a builder or of a known maker of graphs in the
code is a place where a graph must be found. Wrong is a graph that was read and whose verdict is not the truth's:
``bounded`` of a cyclic one (false "bounded", counted apart too), or ``unbounded``, ``not proven`` or ``unreachable`` of
an acyclic one. ``--write`` puts the table into ``benchmarks/RESULTS.md``, that of a further set of repositories under
its NAME.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import machine, write

from loopwright.check.agents import maker_of
from loopwright.check.project import SourceFile
from loopwright.check.targets import python_files
from loopwright.check.values import MAKERS
from loopwright.engine.proof.source import Symbol
from loopwright.errors import GraphError

TITLE = "Check on public repositories"
TRUTH = re.compile(r"^- `([^`]+?):(\d+)[^`]*` \| (acyclic|agent|cyclic)")
NEAR = 3
"""A graph is found if it is reported at most this many lines away."""


@dataclass
class Row:
    """One repository."""

    name: str
    graphs: int = 0
    found: int = 0
    missed: list[str] = field(default_factory=list)
    judged: int = 0
    wrong: list[str] = field(default_factory=list)
    false_bounded: list[str] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    unread: int = 0
    """Files that are no Python for this interpreter, say."""
    seconds: float = 0.0
    failed: str = ""
    """A traceback or a hang."""


def check(folder: Path, row: Row) -> list[dict[str, Any]]:
    """Run the command on a checkout; returns the graphs of its report."""
    code = "from loopwright.cli import main; main()"
    begun = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, "check", ".", "--format", "json"],
            cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        row.failed = "hang"
        return []
    row.seconds = time.perf_counter() - begun
    if done.returncode not in (0, 1, 2) or "Traceback" in done.stderr or not done.stdout.startswith("{"):
        row.failed = "traceback"
        return []
    report = json.loads(done.stdout)
    row.unread = len(report["errors"])
    row.verdicts = Counter(graph["verdict"] for graph in report["graphs"])
    return report["graphs"]


def sites(folder: Path) -> list[tuple[str, int]]:
    """Every call of a maker of graphs in the code, as file and line (of a notebook: the line of its JSON)."""
    found: list[tuple[str, int]] = []
    os.chdir(folder)
    for path in python_files(Path()):
        try:
            source = SourceFile(path)
        except GraphError:
            continue
        made = {
            alias.asname or alias.name
            for node in ast.walk(source.tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if maker_of(Symbol(f"{node.module}.{alias.name}")) not in (None, "other")
            or (alias.name in MAKERS and f"{node.module}.".startswith("langgraph.graph"))
        }
        found += (
            (path.as_posix(), line_of(source, node.lineno))
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in made
        )
    return found


def line_of(source: SourceFile, line: int) -> int:
    """A line of a notebook's cells as a line of its JSON; that of a file as it is."""
    if not source.cells:
        return line
    where = source.at(line)
    cell, within = (int(number) for number in re.findall(r"cell (\d+), line (\d+)", where)[-1])
    return json_line(source.path, cell, within)


def json_line(path: Path, cell: int, line: int) -> int:
    """The line of a notebook's JSON that holds a line of a cell."""
    starts = [
        number
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.match(r'\s*"source": ', text)
    ]
    return starts[cell - 1] + line if cell <= len(starts) else 0


def truths(index: Path) -> dict[str, dict[tuple[str, int], str]]:
    """Repository -> place -> what reading it says."""
    found: dict[str, dict[tuple[str, int], str]] = {}
    repository = ""
    for line in index.read_text(encoding="utf-8").splitlines() if index.is_file() else ():
        if line.startswith("## "):
            repository = line[3:].strip().replace("/", "+")
        if match := TRUTH.match(line):
            found.setdefault(repository, {})[match[1], int(match[2])] = match[3]
    return found


def judge(folder: Path, truth: dict[tuple[str, int], str]) -> Row:
    """Check a repository and compare what is said with what is there."""
    row = Row(folder.name)
    places: dict[tuple[str, int], dict[str, Any]] = {}
    for graph in check(folder, row):
        path = Path(folder, graph["file"])
        line = json_line(path, graph["cell"], graph["line"]) if graph["cell"] else graph["line"]
        places.setdefault((graph["file"], line), graph)
    inside = {node for graph in places.values() for cycle in graph["cycles"] for node in cycle["nodes"] if "/" in node}
    for file, line in sites(folder):
        row.graphs += 1
        near = [place for place in places if place[0] == file and abs(place[1] - line) <= NEAR]
        row.found += bool(near)
        if not near:
            row.missed.append(f"{file}:{line}{' (a node of another graph?)' if inside else ''}")
    for (file, line), said in truth.items():
        near = [graph for place, graph in places.items() if place[0] == file and abs(place[1] - line) <= NEAR]
        for graph in near[:1]:
            row.judged += 1
            verdict, place = graph["verdict"], f"{file}:{line} {graph['verdict']}, truth: {said}"
            if verdict == "bounded" and said != "acyclic":
                row.false_bounded.append(place)
            own = [cycle for cycle in graph["cycles"] if not all("/" in node for node in cycle["nodes"])]
            bounded = verdict in ("bounded", "unreachable") or not own  # cycles of a graph inside are judged there
            if bounded != (said == "acyclic") and verdict != "not read" and not (said != "acyclic" and graph["cycles"]):
                row.wrong.append(place)
    return row


def report(folder: Path, details: bool) -> str:
    """The table as Markdown."""
    truth = truths(folder / "INDEX.md")
    home = Path.cwd()
    rows: list[Row] = []
    for place in sorted(path for path in folder.iterdir() if path.is_dir() and "+" in path.name):
        rows.append(judge(place, truth.get(place.name, {})))
        os.chdir(home)
    lines = [
        "| repository | graphs | found | missed | judged by reading | wrong | not read | seconds |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        if details:
            for what, where in (("missed", row.missed), ("wrong", row.wrong), ("FALSE BOUNDED", row.false_bounded)):
                print(*(f"{row.name}: {what}: {place}" for place in where), sep="\n", end="\n" if where else "")
        name = row.name.replace("+", "/") + (f" ({row.failed}!)" if row.failed else "")
        lines.append(
            f"| {name} | {row.graphs} | {row.found} | {len(row.missed)} | {row.judged} | {len(row.wrong)} "
            f"| {row.verdicts['not read']} | {row.seconds:.1f} |"
        )
    total = [sum(values) for values in zip(*((r.graphs, r.found, len(r.missed), r.judged, len(r.wrong),
                                              r.verdicts["not read"]) for r in rows), strict=True)]  # fmt: skip
    lines.append(f"| all {len(rows)} | {' | '.join(map(str, total))} | {sum(row.seconds for row in rows):.1f} |")
    false = sum(len(row.false_bounded) for row in rows)
    lines += [
        "",
        f'- tracebacks and hangs: {sum(bool(row.failed) for row in rows)}; false "bounded": {false}; wrong verdicts: '
        f"{total[4]} of {total[3]} judged; files that this Python cannot parse: {sum(row.unread for row in rows)}, "
        "one line each",
        "- missed are calls of a maker in the code without a graph of their own in the report: most build a graph that "
        "is a node of another, and is reported there",
        "",
        machine(),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not words or not Path(words[0]).is_dir():
        print(f"nothing to check: give a folder of checkouts. {__doc__}")
        raise SystemExit(0)
    table = report(Path(words[0]).resolve(), "--details" in sys.argv)
    print(table)
    if "--write" in sys.argv:
        write(": ".join([TITLE, *words[1:]]), table)
