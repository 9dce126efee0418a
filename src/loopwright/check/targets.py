"""From the words of the command line to checked graphs."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from loopwright.check.findings import EXACTLY, CheckedGraph, Checker
from loopwright.check.project import NOTEBOOK, whole
from loopwright.errors import GraphError, LoopwrightError, unknown_name_message

SKIPPED = frozenset({"tests", "test", "__pycache__", "node_modules", "site-packages", "venv"})
"""Folders that are not looked into, beside hidden ones and environments under other names."""

_TESTS = re.compile(r"(test_.*|.*_test|conftest)\.py")  # as pytest finds them
_ENVIRONMENT = ("pyvenv.cfg", "conda-meta")  # what lies in a folder that is one


@dataclass
class Outcome:
    """What a run of the command found."""

    graphs: list[CheckedGraph] = field(default_factory=list[CheckedGraph])
    """Every graph, in the order of the targets."""
    errors: list[str] = field(default_factory=list[str])
    """What could not be checked, one line each."""
    empty: list[str] = field(default_factory=list[str])
    """Targets that hold no graph."""
    files: int = 0
    """How many files were looked at."""

    @property
    def exit_code(self) -> int:
        """0 clean, 1 findings, 2 errors."""
        return 2 if self.errors else int(any(graph.findings for graph in self.graphs))


def check_targets(targets: Sequence[str], import_them: bool | None, allow_empty: bool) -> Outcome:
    """Check everything that the command line names.

    Args:
        targets: Modules, files and folders, with ``:GRAPH`` behind the first two if one graph is meant.
        import_them: Whether to import; by default only where a graph or module is named.
        allow_empty: Whether a file without graphs is no error.
    """
    outcome = Outcome()
    inside = {target: [*python_files(Path(target))] for target in targets if os.path.isdir(target)}
    files = [file for its in inside.values() for file in its]
    around = sorted({parent for file in files for parent in file.parents})
    marks = ("pyproject.toml", "setup.py", "setup.cfg")
    # Projects of their own have packages that others may import.
    projects = [at for at in around if any(os.path.isfile(at / each) for each in marks)]
    checker = Checker([*map(Path, inside), Path.cwd()], projects)
    checker.reader.told |= {whole(Path(each)) for each in (*files, *(split_target(one)[0] for one in targets))}
    for file in files:
        with suppress(GraphError):
            checker.project.open(file)  # what a file's functions return may be made in any other
    for target in dict.fromkeys(targets):
        found = list[CheckedGraph]()
        for place in map(str, inside.get(target, [target])):
            try:
                found += _check(place, checker, import_them, outcome, alone=target not in inside)
            except Exception as error:
                outcome.errors.append(_told(place, error))
        outcome.graphs += (graph for graph in found if graph not in outcome.graphs)
        if not found and not outcome.errors:
            outcome.empty.append(target)
    if outcome.empty and len(targets) == 1 and not inside and not allow_empty:
        place = outcome.empty.pop()
        made = f"{place}:build_graph{'' if import_them else '; --import looks for graphs that other code makes'}"
        imported = place.endswith(".py") or not os.path.isfile(place)
        advice = f"; name a function that makes one: {made}" if imported else ""
        outcome.errors.append(f"{place} holds no LangGraph graph{advice}")
    return outcome


def split_target(target: str) -> tuple[str, str]:
    """The module or file that a target names, with its drive on Windows, and the name of the graph, or ""."""
    drive = target[:2] if re.match(r"[A-Za-z]:[\\/]", target) else ""
    place, _, name = target.removeprefix(drive).partition(":")
    return drive + place, name


def missing(kind: str, place: str) -> GraphError:
    """Say that a file or folder is not there, and which one that is was probably meant."""
    path = Path(place)
    near = Path(path.anchor)
    for part in path.relative_to(near).parts:
        names = {Path(name).stem: name for name in os.listdir(near)} if near.is_dir() else {}
        known = (near / part).exists()
        near /= part if known else next((names[stem] for stem in get_close_matches(Path(part).stem, names, 1)), part)
    guess = f". Did you mean {near}?" if near.exists() else ""
    return GraphError(f"there is no {kind} {path}{guess}")


def _check(
    target: str, checker: Checker, import_them: bool | None, outcome: Outcome, alone: bool
) -> list[CheckedGraph]:
    place, name = split_target(target)
    if not place:
        raise GraphError(f"{target!r} names no file and no module: write FILE.py[:GRAPH], MODULE:GRAPH or a folder")
    if os.path.isfile(target):  # a script may have another ending
        return _check_file(Path(target), checker, import_them, outcome, alone)
    if target.endswith((".py", NOTEBOOK)):
        raise missing("file", target)
    if import_them is False or place.endswith(NOTEBOOK):  # which nothing imports
        if not place.endswith((".py", NOTEBOOK)):
            raise GraphError(f"{target} is a module, which must be imported; name its file, or leave --no-import away")
        graphs = _check_file(Path(place), checker, import_them, outcome)
        by_name = {graph.name.removeprefix(f"{Path(place)}:"): graph for graph in graphs}
        found = [graph for known, graph in by_name.items() if known == name or known.startswith(f"{name}.")]
        if not found:
            raise GraphError(f"{place}: {unknown_name_message('graph', name, by_name)}")
        return found
    from loopwright.check.loading import check_imported

    outcome.files += 1
    return check_imported(target)


def _check_file(
    path: Path, checker: Checker, import_them: bool | None, outcome: Outcome, alone: bool = False
) -> list[CheckedGraph]:
    """Check a file; it is imported, too, if that is asked for and it has graphs, or was named `alone`."""
    outcome.files += 1
    found = checker.check(path)
    outcome.errors += checker.project.open(path).faults
    if not import_them or not (found or alone) or path.suffix != ".py":
        return found
    from loopwright.check.loading import check_imported

    if not (exact := check_imported(str(path), found, allow_empty=True)):
        return found
    names, cycles = {graph.name for graph in exact}, {each.cycle for graph in exact for each in graph.findings}
    for graph in (each for each in found if each.name not in names):  # no import makes it
        left = (each.cycle not in cycles if each.cycle else not each.why.endswith(EXACTLY) for each in graph.findings)
        exact += [graph] if any(left) else []
    return exact


def python_files(folder: Path) -> Iterator[Path]:
    """The Python files and notebooks of a folder tree, sorted, without tests, hidden folders and environments."""
    for place, folders, files in os.walk(folder):
        inner = (Path(place, name) for name in sorted(folders) if name not in SKIPPED and not name.startswith("."))
        folders[:] = (each.name for each in inner if not any(os.path.exists(each / mark) for mark in _ENVIRONMENT))
        named = (Path(place, name) for name in sorted(files) if name.endswith((".py", ".ipynb")))
        yield from (file for file in named if os.path.isfile(file) and not _is_of_tests(file))


def _is_of_tests(file: Path) -> bool:
    """Whether a file is called as tests are, and holds some: an agent that writes tests is called so, too."""
    with suppress(OSError):
        return bool(_TESTS.fullmatch(file.name)) and re.search(rb"def test|pytest", file.read_bytes()) is not None
    return False


def _told(target: str | Path, error: Exception) -> str:
    """One line for what could not be checked; an error of another kind is our own fault, and says which."""
    said = " ".join(str(error).split())
    if isinstance(error, LoopwrightError):
        return said if str(target) in said else f"{target}: {said}"
    return f"{target} could not be checked: {type(error).__name__}: {said}"
