"""What a batch is run on: one sample for each question about an image, from a folder or a manifest in JSON Lines."""

import difflib
import hashlib
import json
import logging
import os
import re
import unicodedata
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Annotated, Any, NoReturn, Self, cast

from PIL import Image
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    StringConstraints,
    ValidationError,
    model_validator,
)

import loopwright
from loopwright.errors import InputError, own_words
from loopwright.workflows.api import LONGEST_TEXT
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.schemas import NonEmpty
from loopwright.workflows.iqa.sources.images import NO_PICTURES

logger = logging.getLogger("loopwright.iqa")

Offset = Annotated[int, Field(ge=0, strict=True)]
Side = Annotated[int, Field(ge=1, strict=True)]
Place = Annotated[NonEmpty, AfterValidator(lambda path: PurePath(path).as_posix())]
Name = Annotated[
    str, BeforeValidator(lambda name: "" if name is None else name), StringConstraints(strip_whitespace=True)
]


class Sample(BaseModel):
    """One question about one image: a line of a manifest, or a file of a folder.

    Keys of a line that nobody knows are left alone, unless they look like a known one misspelt.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    image_path: Place
    """The image, relative to the folder or to the manifest's, with ``/`` between the parts."""
    query: Annotated[NonEmpty, StringConstraints(max_length=LONGEST_TEXT)]
    """The question; of a line without one, that of the whole batch."""
    sample_id: Name = ""
    """Names the row; no two samples of a batch share it. By default the image's path."""
    reference_path: Place | None = None
    """The pristine image, written like `image_path`, if there is one."""
    region: tuple[Offset, Offset, Side, Side] | None = None
    """Left, top, width, height in pixels, if only a part is asked about."""
    mos: FiniteFloat | None = None
    """People's score of the image, in the manifest's own scale; handed through to the table."""
    group: str | None = None
    """What the manifest says that the image belongs to; handed through to the table."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise ValueError('a line is one JSON object, for example {"image_path": "a.jpg"}')
        for name in cast("dict[str, Any]", data).keys() - cls.model_fields.keys():
            if near := difflib.get_close_matches(name, cls.model_fields, n=1, cutoff=0.8):
                raise ValueError(f"unknown key {name!r}; did you mean {near[0]!r}?")
        return data  # pyright: ignore[reportUnknownVariableType]

    @property
    def asked(self) -> str:
        """A hash of what is asked: image and reference by name, region and question."""
        given = json.dumps([self.image_path, self.reference_path, self.region, self.query])
        return hashlib.sha256(given.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a batch, by a hash of the image's path: every machine finds the same parts."""

    number: int
    """Which part, from 1."""
    count: int
    """How many parts there are."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``"2/8"``: the second of eight.

        Raises:
            InputError: If it is not of that form, or the number is not within 1 and the count.
        """
        match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(f"the shard is {text!r}: give i/n with i from 1 to n, for example 2/8")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def holds(self, path: str) -> bool:
        """Whether an image belongs to this part; all questions about one image belong to the same."""
        # File systems store the accents of one name in different ways.
        name = unicodedata.normalize("NFC", path).encode("utf-8", "surrogateescape")
        return int.from_bytes(hashlib.sha256(name).digest()[:8]) % self.count == self.number - 1


def read_source(source: Path, query: str) -> tuple[Path, list[Sample]]:
    """The samples of a folder or a manifest, and what their paths are relative to.

    Args:
        source: A folder, or a manifest in JSON Lines.
        query: What to ask where the manifest does not say.

    Raises:
        InputError: If there is neither, or it cannot be used.
    """
    if source.is_dir():
        return source, read_folder(source, query)
    if source.suffix.lower() != ".jsonl":
        raise InputError(f"{str(source)!r} is neither a folder nor a manifest; give one of these, a manifest as .jsonl")
    return source.parent, read_manifest(source, query)


@cache
def extensions() -> frozenset[str]:
    """The extensions of images, in lower case, with their dots: a telephone's HEIC too, whose row says what to do."""
    Image.init()
    found = Image.registered_extensions().items()
    # MPO, several pictures in one JPEG, has no reader of its own.
    kinds = (Image.OPEN.keys() | {"MPO"}) - NO_PICTURES
    return frozenset({".heic", ".heif", ".jxl", *(suffix for suffix, kind in found if kind in kinds)})


def read_folder(folder: Path, query: str) -> list[Sample]:
    """One sample for each image below a folder, in order of their paths.

    Files and folders whose names begin with a dot are left out, and so are files of other endings, which a warning
    counts. A link to a folder is followed unless that folder is read anyway, so that a loop of links ends and no image
    comes twice through folders.

    Raises:
        InputError: If a folder cannot be read, or there is no image.
    """
    walked = _walk(folder)
    paths = sorted(path for path in walked if _ending(path) in extensions())
    others = Counter(_ending(path) or "no ending" for path in walked if _ending(path) not in extensions())
    if others:
        told = ", ".join(f"{count:,} with {ending}" for ending, count in sorted(others.items()))
        logger.warning("left out, as no images by their endings: %s; develop a camera's raw files first", told)
    if not paths:
        raise InputError(
            f"there is no image in {str(folder)!r}; files with these endings count: {' '.join(sorted(extensions()))}"
        )
    # Not validated: file names may be no UTF-8.
    return [Sample.model_construct(image_path=path, query=query, sample_id=path) for path in paths]


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _walk(folder: Path) -> list[str]:
    """The paths of all files below a folder."""
    found: list[str] = []
    seen: set[tuple[int, int]] = set()
    # Links wait until every real folder has been read: what lies below both is named by its own path.
    starts = [folder]
    for start in starts:
        for here, inner, files in os.walk(start, onerror=_refuse):
            status = os.stat(here)
            if (status.st_dev, status.st_ino) in seen:
                inner.clear()
                continue
            seen.add((status.st_dev, status.st_ino))
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            starts += [Path(here, name) for name in inner if os.path.islink(os.path.join(here, name))]
            found += [Path(here, name).relative_to(folder).as_posix() for name in files if not name.startswith(".")]
    return found


def _refuse(error: OSError) -> NoReturn:
    raise InputError(f"cannot read the folder {str(error.filename)!r}: {error.strerror}; make it readable") from error


_PROBLEMS_SHOWN = 10

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_manifest(path: Path, query: str) -> list[Sample]:
    """The samples of a manifest, in order of their names.

    A sample without a name of its own is called by its image's path; where several are about the same image, a hash of
    what they ask is added.

    Raises:
        InputError: If it cannot be read, is empty, or lines are wrong: the first ten are named by their numbers.
    """
    lines, problems = _read_lines(path, query)
    samples = _named([sample for _, sample in lines])
    problems += _twice(samples, [number for number, _ in lines])
    if problems:
        more = f"; and {len(problems) - _PROBLEMS_SHOWN} more" if len(problems) > _PROBLEMS_SHOWN else ""
        raise InputError(f"{str(path)!r}, {'; '.join(problems[:_PROBLEMS_SHOWN])}{more}")
    if not samples:
        raise InputError(f"the manifest {str(path)!r} has no line; give one JSON object per line with image_path")
    return sorted(samples, key=lambda sample: sample.sample_id)


def _read_lines(path: Path, query: str) -> tuple[list[tuple[int, Sample]], list[str]]:
    """Number and content of each line that says something, and what is wrong with the others."""
    try:
        content = path.read_bytes().removeprefix(_BYTE_ORDER_MARK)
    except OSError as error:
        raise InputError(f"cannot read the manifest {str(path)!r}: {error.strerror}") from error
    samples: list[tuple[int, Sample]] = []
    problems: list[str] = []
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            if line.strip():
                given = json.loads(line.decode("utf-8"))
                if isinstance(given, dict) and given.get("query") is None:  # pyright: ignore[reportUnknownMemberType]
                    given["query"] = query
                samples.append((number, Sample.model_validate(given)))
        except (ValueError, RecursionError) as error:
            problems.append(f"line {number}: {_said(error)}")
    return samples, problems


def _said(error: Exception) -> str:
    """What is wrong with a line, without the library's own words around it."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = f"{first['loc'][0]}: " if first["loc"] else ""
        return f"{where}{own_words(first['msg'])}"
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON object: {error.msg} at column {error.colno}"
    return f"not UTF-8: {error}" if isinstance(error, UnicodeDecodeError) else str(error)


def _named(samples: list[Sample]) -> list[Sample]:
    count = Counter(sample.image_path for sample in samples if not sample.sample_id)

    def name(sample: Sample) -> str:
        suffix = f"#{hashlib.sha256(sample.asked.encode()).hexdigest()[:8]}" if count[sample.image_path] > 1 else ""
        return sample.sample_id or sample.image_path + suffix

    return [sample.model_copy(update={"sample_id": name(sample)}) for sample in samples]


def _twice(samples: list[Sample], lines: list[int]) -> list[str]:
    first: dict[str, int] = {}
    problems: list[str] = []
    for sample, line in zip(samples, lines, strict=True):
        before = first.setdefault(sample.sample_id, line)
        if before != line:
            problems.append(f"line {line}: sample {sample.sample_id!r} is that of line {before}; give it a sample_id")
    return problems


_WITHOUT_EFFECT = {
    "allowances": True,
    "langgraph": {"debug_mode", "save_graph_visualization", "log_dir"},
    "pipeline": {"checkpoint"},
}
"""What changes no row."""

_PACKAGES = ("numpy", "opencv-python-headless", "pillow")


def configuration_digest(config: IQAConfig) -> str:
    """A hash of the configuration, as far as it can change a row, and of this package's version."""
    given = [loopwright.__version__, config.model_dump(mode="json", exclude=_WITHOUT_EFFECT)]
    return hashlib.sha256(json.dumps(given, sort_keys=True, default=str).encode()).hexdigest()[:16]


def row_key(sample: Sample, root: Path, configuration: str) -> str:
    """A hash of what is asked, the configuration, and the sizes and times of last change of the files."""
    parts = [sample.asked, configuration]
    for path in filter(None, (sample.image_path, sample.reference_path)):
        # A file that is not there differs from every one that is.
        with suppress(OSError, ValueError):
            status = (root / path).stat()
            parts.append(f"{status.st_size}:{status.st_mtime_ns}")
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:32]


@cache
def versions() -> str:
    """The packages that measured, with their versions."""
    return "; ".join([f"loopwright {loopwright.__version__}", *(f"{name} {version(name)}" for name in _PACKAGES)])
