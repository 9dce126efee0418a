"""Source files by the names that their imports give them."""

import ast
import json
import os
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from itertools import chain
from keyword import kwlist
from pathlib import Path
from sys import version_info

from loopwright.check.reach import Reach, given_in, jumping_out
from loopwright.engine.proof.changes import changers_in, changes_in, changes_of
from loopwright.engine.proof.syntax import every
from loopwright.errors import GraphError

IGNORE = "# loopwright: ignore"
"""The comment that silences a finding on its line."""

NOTEBOOK = ".ipynb"
"""How the name of a notebook ends."""

INSTALLED = ("site-packages", "dist-packages")
"""What the folder is called in which an environment's packages lie."""

MOST_BYTES = 1_000_000
"""A larger file is generated, not written; parsing it would take longer than a check may."""


class SourceFile:
    """A parsed file: Python, or the code cells of a notebook one after the other.

    What is no Python in a cell stands as a call that may do anything to what it names; `faults` tells of it. A file
    that cannot be read as Python is a `GraphError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: list[int] = []
        self.faults: list[str] = []
        try:
            if path.stat().st_size > MOST_BYTES * (10 if path.suffix == NOTEBOOK else 1):
                raise GraphError(f"{path} is too large to be read ({path.stat().st_size:,} bytes)")
            self.text = self._notebook() if path.suffix == NOTEBOOK else self._python()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the parsed file's own faults, which are nobody's business here
                self.tree = ast.parse(self.text)
        except SyntaxError as error:
            raise GraphError(f"{path}: line {error.lineno or 1}: {error.msg}, as {_PYTHON} reads it") from error
        except (OSError, ValueError, RecursionError, MemoryError, TypeError, LookupError, AttributeError) as error:
            raise GraphError(f"{path} cannot be read: {str(error) or 'it is nested too deeply'}") from error

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word in it, names among them, also those with marks that are no letters."""
        return frozenset(re.findall(r"[\w\x80-\U0010ffff]+", self.text))

    def _python(self) -> str:
        with tokenize.open(self.path) as file:  # in the encoding that the file declares
            return file.read()

    def _notebook(self) -> str:
        lines: list[str] = []
        book = json.loads(self.path.read_text(encoding="utf-8"))
        about = book.get("metadata", {})
        language = about.get("language_info", {}).get("name") or about.get("kernelspec", {}).get("language") or "python"
        if "python" not in language.lower():
            return ""
        for number, cell in enumerate(book["cells"], 1):
            self.cells.append(len(lines) + 1)
            if cell["cell_type"] == "code":
                plain = _without_magic("".join(cell["source"]).removesuffix("\n").split("\n"))
                text = "\n".join(plain)
                try:
                    ast.parse(text)
                except SyntaxError as error:
                    if _MATTERS.search(text):
                        place = f"{self.path}: cell {number}, line {error.lineno}"
                        self.faults.append(f"{place}: {error.msg}, as {_PYTHON} reads it; the rest is checked")
                    plain = [*chain.from_iterable(_python_of(part, number) for part in _parts(plain))]
                lines += plain
        return "\n".join([*lines, ""])

    def cell_of(self, line: int) -> tuple[int, int | None]:
        """The line of the cell that a line is in, and which cell; the line itself where there are none."""
        cell = bisect_right(self.cells, line)
        return (line - self.cells[cell - 1] + 1, cell) if cell else (line, None)

    @cached_property
    def ignored(self) -> frozenset[int]:
        """The lines whose findings are silenced."""
        return frozenset(number for number, line in enumerate(self.text.split("\n"), 1) if IGNORE in line)


_PYTHON = f"Python {version_info.major}.{version_info.minor}"
_NAME = re.compile(r"(?<![.\w])[^\W\d]\w*(?!\w*\s*[.(])")
_GIVING = re.compile(r"^(.*)(?<![=!<>])=(?!=)|\b(?:for|as|import|case)\b(.*)", re.MULTILINE)
"""Where the names stand that a statement gives values, in either group."""
_DEFINING = re.compile(r"^\s*(?:async )?(?:def|class)\s+([^\W\d]\w*)", re.MULTILINE)
_MATTERS = re.compile(r"\b(def|class|add_\w+|\w*Graph|\w*graph\w*|\w*builder|workflow)\b")
"""What a cell says that may matter to a graph."""
_MAGIC = re.compile(r"^(\s*)(?:[%!].*|(?:pip|conda|uv|cd|ls|mkdir) (?!\s*=).*|\?{1,2}\w.*|[\w.]+\?{1,2}\s*)$")
_ASSIGNED_MAGIC = re.compile(r"^(\s*[\w., ]+=\s*)[%!].*$")
_TIMED = re.compile(r"^(\s*)%(?:time|prun)\s+(?=\S)")
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")


def _without_magic(lines: list[str]) -> list[str]:
    """A cell's lines without IPython's own, so that the others keep their numbers."""
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and not first.startswith(_PYTHON_CELLS):
        return [""] * len(lines)
    plain, goes_on = list[str](), False
    for line in (_TIMED.sub(r"\1", line) for line in lines):
        plain.append("" if goes_on else _ASSIGNED_MAGIC.sub(r"\1None", _MAGIC.sub(r"\1pass", line)))
        goes_on = line.endswith("\\") and plain[-1] != line
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:
        return plain
    return lines


_GOES_ON = re.compile(r"[\s#)\]}]|$|(elif|else|except|finally)\b")


def _parts(lines: list[str]) -> list[list[str]]:
    """A cell's statements, as far as they begin where lines do."""
    parts = list[list[str]]()
    for line in lines:
        text = "\n".join(parts[-1]) if parts else ""
        opened = text.count('"""') % 2 or text.count("'''") % 2 or (text[:1] == "@" and not _DEFINING.search(text))
        parts[-1].append(line) if parts and (opened or _GOES_ON.match(line)) else parts.append([line])
    return parts


def _python_of(part: list[str], cell: int) -> list[str]:
    """A statement; one that is no Python as a call that may do anything to what it names, and gives names values."""
    text = "\n".join(part)
    try:
        ast.parse(text)
        return part
    except SyntaxError:
        named = {name for name in re.findall(r"[^\W\d]\w*", text) if name.isidentifier()} - {*kwlist}
        given = {name for found in _GIVING.findall(text) for side in found for name in _NAME.findall(side)} & named
        call = f"cell_{cell}({', '.join(sorted(named))})"
        made = " = ".join((*sorted(given | {*_DEFINING.findall(text)}), call))
        return [made, *[""] * (len(part) - 1)]


_COUNTS = re.compile(r"\b(run|thread)_(model|tool)_call_count\b")
"""The state keys in which LangChain's limits count."""


class Project:
    """The files of a folder tree, each parsed once; imports start from `roots`, and may find packages of `projects`."""

    def __init__(self, roots: list[Path], projects: Sequence[Path] = ()) -> None:
        self.roots, self.projects = [*map(whole, roots)], [*map(whole, projects)]
        self._files: dict[Path, SourceFile | GraphError] = {}
        self._reach: dict[tuple[Path, int], Reach] = {}
        self.modules: dict[Path, object] = {}
        """The scopes of the files that were read, by whole paths."""
        self.unread: list[Path] = []
        """The files that were opened and whose statements nobody has read yet."""
        self._found, self.imports, self._starts = cache(self._find), cache(self._imports), cache(self._begun_at)
        self._mentioning, self._names_at = cache(self._mention), cache(_names_at)
        self.changes, self.changers = cache(self._changes), cache(self._changers)
        self.changes_in, self._given_in = cache(changes_in.__wrapped__), cache(given_in)
        self.jumps = self.jumps_out = False
        """Whether a file may make a Command with a goto, or one for the graph around, of those that are open by now."""
        self.resets = False
        """Whether one of them names the counts that LangChain's limits keep in the state."""

    def open(self, path: Path) -> SourceFile:
        """A `SourceFile`, or its `GraphError`."""
        waiting = [path]
        while waiting:
            if (key := whole(opened := waiting.pop())) in self._files:
                continue
            try:
                file = self._files[key] = SourceFile(opened)
            except GraphError as error:
                self._files[key] = error
                continue
            self.jumps = self.jumps or ("Command" in file.text and "goto" in file.text)
            self.jumps_out = self.jumps_out or ("Command" in file.text and bool(jumping_out(file.tree)))
            self.resets = self.resets or bool(_COUNTS.search(file.text))
            self.unread.append(opened)
            self.changes.cache_clear()
            self.changers.cache_clear()
            waiting += self.imports(opened)  # what its functions import when they run may make Commands, too
        if isinstance(found := self._files[whole(path)], GraphError):
            raise found
        return found

    def _changes(self, name: str, mentioned: str) -> frozenset[str]:
        """What `changes_in` says of a name, of all files together that mention another; kept, as `changes`."""
        return changes_of(name, mentioned, map(self.changes_in, self._mentioning(mentioned, len(self._files))))

    def _changers(self, name: str, mentioned: str) -> frozenset[tuple[ast.AST, str]]:
        """What `changers_in` says of a name, as `changes`; kept, as `changers`."""
        trees = self._mentioning(mentioned, len(self._files))
        return frozenset[tuple[ast.AST, str]]().union(*(changers_in(tree).get(name, ()) for tree in trees))

    def _mention(self, name: str, _opened: int) -> list[ast.AST]:
        files = (file for file in self._files.values() if isinstance(file, SourceFile))
        return [file.tree for file in files if name in file.words]

    def reach(self, path: Path) -> Reach:
        """Who may jump out of a graph, in a file and all that it imports, as far as they are open by now."""
        key = whole(path), len(self._files)
        if key not in self._reach:
            seen: dict[Path, SourceFile] = {}
            waiting = [path]
            while waiting:
                file = self._files.get(at := whole(opened := waiting.pop()))
                if isinstance(file, SourceFile) and at not in seen:
                    seen[at] = file
                    waiting += self.imports(opened)
            self._reach[key] = Reach([file.tree for file in seen.values()], self._given_in)
        return self._reach[key]

    def _imports(self, path: Path) -> list[Path]:
        """The files that a file imports anywhere; kept, as `imports`."""
        found: dict[Path | None, None] = {}
        for node in every(self.open(path).tree):
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                level, module = (node.level, node.module or "") if isinstance(node, ast.ImportFrom) else (0, "")
                names = (module, f"{module}.{alias.name}".lstrip("."))
                found |= dict.fromkeys(self.find(name, level, path) for name in names if name or level)
        return [file for file in found if file]

    def find(self, module: str, level: int, importer: Path) -> Path | None:
        """The file of a module, if it is in the folder tree.

        Its dotted name is empty in ``from . import name``; the level is the number of dots before it.
        """
        return self._found(module, level, importer.with_name("__init__.py"))  # all files of a folder find the same

    def _find(self, module: str, level: int, importer: Path) -> Path | None:
        relative, importer = not importer.is_absolute(), whole(importer)
        parts = module.split(".") if module else []
        own = (*parts[:1],)
        around = [*self._starts(importer), *_named("".join(own), importer)]
        starts = [*importer.parents][level - 1 : level] if level else around
        for start in starts:
            # Of an environment a package's own files are read, and not all that is installed beside it.
            if start.name in INSTALLED and start not in self.roots and importer.relative_to(start).parts[:1] != own:
                continue
            if parts and (names := self._names_at(start)) and own[0] not in names:
                continue
            place = start.joinpath(*parts)
            for path in (*([place.with_name(f"{place.name}.py")] if parts else []), place / "__init__.py"):
                if os.path.isfile(path):
                    # Reports name files as the command line does.
                    return Path(os.path.relpath(path)) if relative and path.drive == Path.cwd().drive else path
        return None

    def _begun_at(self, importer: Path) -> list[Path]:
        """The folders in which a file's imports are looked for, in order; kept, as `_starts`."""
        importer = whole(importer)
        around = (at for at in importer.parents[1:] if at.name in INSTALLED or any(map(at.is_relative_to, self.roots)))
        # Two folders may each have an ``app``: the one that the importer lies in comes first.
        roots = sorted(self.roots, key=lambda root: not importer.is_relative_to(root))
        projects = sorted(self.projects, key=lambda at: not importer.is_relative_to(at))
        others = (each for at in projects for each in (at, at / "src"))
        return [*dict.fromkeys([package_root(importer), *roots, *around, importer.parent, *others])]

    def has(self, module: str, importer: Path) -> bool:
        """Whether a package or module of that name lies where a file's imports are looked for."""
        top, _, rest = module.partition(".")
        # A folder that happens to be called like a package counts only if it holds what is imported.
        inside = [at / top / rest.partition(".")[0] for at in _named(top, importer)] if "." in rest else []
        places = (*(at / top for at in self._starts(importer)), *inside)
        return any(os.path.isdir(at) or os.path.isfile(f"{at}.py") for at in places)


def _names_at(folder: Path) -> frozenset[str]:
    """What can be imported from a folder, and the names of all else that lies there; none if nobody can list it."""
    with suppress(OSError):
        return frozenset(name.partition(".")[0] for name in os.listdir(folder))
    return frozenset()


def _named(name: str, importer: Path) -> list[Path]:
    """The folders around a package of that name, in which the importer lies: its own name, checked from inside it."""
    return [at.parent for at in whole(importer).parents if name and at.name == name]


def package_root(path: Path) -> Path:
    """The folder that the outermost package around a file lies in; its own folder, where it is in none."""
    folder = whole(path).parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def whole(path: Path) -> Path:
    """A path from its root on: of a relative one, not all folders around are known, and one file has one key."""
    if ".." in path.parts:  # behind a link that is another folder than the text says
        path = Path(os.path.realpath(path.parent), path.name)
    return Path(os.path.abspath(path))
