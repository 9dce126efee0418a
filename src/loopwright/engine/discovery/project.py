"""Source files by the names that their imports give them."""

from __future__ import annotations

import ast
import tokenize
from functools import cached_property
from pathlib import Path

from loopwright.errors import GraphError

IGNORE = "# loopwright: ignore"
"""The comment that silences a finding on its line."""


class SourceFile:
    """A parsed file.

    Raises:
        GraphError: If it cannot be read as Python.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with tokenize.open(path) as file:  # in the encoding that the file declares
                self.text = file.read()
            self.tree = ast.parse(self.text)
        except SyntaxError as error:
            raise GraphError(f"{path}: line {error.lineno or 1}: {error.msg}") from error
        except (OSError, ValueError, RecursionError) as error:
            raise GraphError(f"{path} cannot be read: {error}") from error

    @cached_property
    def ignored(self) -> frozenset[int]:
        """The lines whose findings are silenced."""
        lines = self.text.splitlines()
        return frozenset(number for number, line in enumerate(lines, 1) if IGNORE in line)


class Project:
    """The files of a folder tree; each is parsed once.

    Args:
        roots: Folders that imports start from.
    """

    def __init__(self, roots: list[Path]) -> None:
        self.roots = roots
        self._files: dict[Path, SourceFile] = {}

    def open(self, path: Path) -> SourceFile:
        """A file, parsed.

        Raises:
            GraphError: If it cannot be read as Python.
        """
        key = path.resolve()
        if key not in self._files:
            self._files[key] = SourceFile(path)
        return self._files[key]

    def find(self, module: str, level: int, importer: Path) -> Path | None:
        """The file of a module, if it is in the folder tree.

        Args:
            module: Its dotted name, empty in ``from . import name``.
            level: The number of dots before it.
            importer: The file that imports it.
        """
        if level:
            starts = [importer.parents[level - 1]] if level <= len(importer.parents) else []
        else:
            starts = [importer.parent, *self.roots, *_package_roots(importer)]
        parts = module.split(".") if module else []
        for start in dict.fromkeys(starts):
            place = start.joinpath(*parts)
            for path in (place.with_name(f"{place.name}.py"), place / "__init__.py") if parts else (
                place / "__init__.py",
            ):  # fmt: skip
                if path.is_file():
                    return path
        return None


def _package_roots(path: Path) -> list[Path]:
    """The folder that the outermost package around a file lies in."""
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return [folder]
