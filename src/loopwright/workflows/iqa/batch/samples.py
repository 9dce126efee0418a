"""What a batch is run on: one sample for each question about an image."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Self

from loopwright.errors import InputError
from loopwright.workflows.iqa.schemas import Box


@dataclass(frozen=True, slots=True)
class Sample:
    """One question about one image."""

    sample_id: str
    """Names the row; no two samples of a batch share it."""
    path: str
    """The image, relative to the folder or to the manifest's, with ``/`` between the parts."""
    query: str
    """The question."""
    reference_path: str | None = None
    """The pristine image, written like `path`, if there is one."""
    region: Box | None = None
    """Left, top, width, height in pixels, if only a part is asked about."""
    mos: float | None = None
    """People's score of the image, in the manifest's own scale; handed through to the table."""
    group: str | None = None
    """What the manifest says that the image belongs to; handed through to the table."""

    @property
    def asked(self) -> str:
        """A hash of what is asked: image and reference by name, region and question."""
        given = json.dumps([self.path, self.reference_path, self.region, self.query])
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

        Args:
            text: Number and count.

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
        """Whether an image belongs to this part; all questions about one image belong to the same.

        Args:
            path: The image's relative path.
        """
        # File systems store the accents of one name in different ways.
        name = unicodedata.normalize("NFC", path).encode("utf-8", "surrogateescape")
        return int.from_bytes(hashlib.sha256(name).digest()[:8]) % self.count == self.number - 1
