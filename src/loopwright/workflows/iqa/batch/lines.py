"""The lines of a manifest, in JSON Lines or CSV; wrong ones are named by their numbers."""

from __future__ import annotations

import csv
import difflib
import functools
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from loopwright.errors import InputError

_PROBLEMS_SHOWN = 10

_SEPARATORS = ",;\t"
"""What stands between the cells of a CSV file; the one that its headings use most is taken."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ManifestLine(BaseModel):
    """What one line may say. Keys that nobody knows are left alone, unless they look like a known one misspelt."""

    model_config = ConfigDict(extra="ignore")

    spellings: ClassVar[Mapping[str, str]] = {}
    """Other names of keys -> the key."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise ValueError('a line is one JSON object, for example {"image_path": "a.jpg"}')
        held = cast("dict[str, Any]", data)
        return {name: held[key] for key, name in cls.named(held).items()}

    @classmethod
    def named(cls, keys: Iterable[str]) -> dict[str, str]:
        """What each key, or heading, of a manifest is called here.

        Args:
            keys: As they are written.

        Returns:
            Key as written -> its name; a name that stands there itself goes before its other spellings.

        Raises:
            ValueError: If one looks like a known one misspelt.
        """
        written = dict.fromkeys(keys)
        names = {key: name if (name := cls.spellings.get(key, key)) not in written else key for key in written}
        for name in names.values():
            if near := _misspelt(name, tuple(cls.model_fields)):
                raise ValueError(f"unknown key {name!r}; did you mean {near!r}?")
        return names


@functools.lru_cache(maxsize=1000)
def _misspelt(name: str, known: tuple[str, ...]) -> str | None:
    near = [] if name in known else difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    return near[0] if near else None


Line = TypeVar("Line", bound=ManifestLine)


def read_lines(path: Path, model: type[Line]) -> tuple[list[tuple[int, Line]], list[str]]:
    """Read a manifest; empty lines are skipped.

    Args:
        path: ``.csv`` or ``.tsv`` with a line of headings, in which an empty cell says nothing and several ``options``
            are joined with ``|``; or else JSON Lines.
        model: What a line may say.

    Returns:
        Number (from 1) and content of each line that could be read, and what is wrong with the others.

    Raises:
        InputError: If the file cannot be read, or its headings are wrong.
    """
    try:
        content = path.read_bytes().removeprefix(_BYTE_ORDER_MARK)
    except OSError as error:
        raise InputError(f"cannot read the manifest {str(path)!r}: {error.strerror}") from error
    table = path.suffix.lower() in (".csv", ".tsv")
    parsed: list[tuple[int, Line]] = []
    problems: list[str] = []
    for number, found in _rows(path, content, model) if table else _objects(content):
        try:
            if isinstance(found, Exception):
                raise found
            parsed.append((number, model.model_validate(found)))
        except (ValueError, RecursionError) as error:
            problems.append(f"line {number}: {_said(error)}")
    return parsed, problems


def refuse(path: Path, problems: Sequence[str]) -> None:
    """Say what is wrong with a manifest, if anything is.

    Args:
        path: The manifest.
        problems: What is wrong with each line.

    Raises:
        InputError: If there are problems; the first ten are told.
    """
    if problems:
        more = f"; and {len(problems) - _PROBLEMS_SHOWN} more" if len(problems) > _PROBLEMS_SHOWN else ""
        raise InputError(f"{str(path)!r}, {'; '.join(problems[:_PROBLEMS_SHOWN])}{more}")


def _objects(content: bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each line of JSON Lines, or what is wrong with it."""
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            found = error
        yield number, found


def _rows(path: Path, content: bytes, model: type[ManifestLine]) -> Iterator[tuple[int, Any]]:
    """Number and cells of each row of a CSV file that says something, or what is wrong with it."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read the manifest {str(path)!r}: it is not UTF-8; save it as CSV in UTF-8") from error
    first = text.lstrip().partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(_SEPARATORS, key=first.count))
    keys: list[str] = []
    number = 1
    try:
        for cells in reader:
            if not keys:
                keys = _headings(path, cells, model)
            elif len(cells) > len(keys):
                said = (
                    f"{len(cells)} cells under {len(keys)} headings; a cell that holds the separator stands in quotes"
                )
                yield number, ValueError(said)
            elif any(cells):
                held: dict[str, Any] = {key: cell for key, cell in zip(keys, cells, strict=False) if key and cell}
                if "options" in held:
                    held["options"] = [part.strip() for part in held["options"].split("|")]
                yield number, held
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"cannot read the manifest {str(path)!r}: line {number}: {error}") from error


def _headings(path: Path, cells: Sequence[str], model: type[ManifestLine]) -> list[str]:
    """The headings of a CSV file; none if the line is empty."""
    keys = [cell.strip() for cell in cells]
    if not any(keys):
        return []
    try:
        names = model.named(keys).values()
    except ValueError as error:
        raise InputError(f"{str(path)!r}, in the headings: {error}") from error
    lacking = [name for name, field in model.model_fields.items() if field.is_required() and name not in names]
    if lacking:
        raise InputError(f"{str(path)!r} has no column {' and '.join(lacking)}; its headings are {', '.join(keys)}")
    return keys


def _said(error: Exception) -> str:
    """What is wrong with a line, without the library's own words around it."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = first["loc"][0] if first["loc"] else None
        return f"{where}: {first['msg']}" if where else first["msg"].removeprefix("Value error, ")
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON object: {error.msg} at column {error.colno}"
    return f"not UTF-8: {error}" if isinstance(error, UnicodeDecodeError) else str(error)
