"""Which image of one folder is compared with which of the other, and with which reference: by their names alone.

The name of a file is its path inside the folder without the last extension, since codecs write different ones.

- An image of A and one of B with the same name are a pair.
- The reference of an image is the one of the same name; else the longest one that begins its name, up to a character
  that is no letter or digit: ``street_q30.jpg`` belongs to ``street.png``. Where no reference lies in a folder of the
  image's own path, the leading folders are left away: ``q30/street.jpg`` belongs to ``street.png`` too.
- A reference with at least `MIN_POINTS` images in both folders gives curves of quality over rate.
- A reference with one image in each folder makes these a pair, whatever their names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from loopwright.errors import InputError
from loopwright.workflows.iqa.comparing.results import LeftOut, Letter

MIN_POINTS = 4
"""Images of one reference that make a curve."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two images of one name."""

    name: str
    """What they have in common."""
    a: str
    """Path of the image of A, relative to its folder."""
    b: str
    """Path of the image of B, relative to its folder."""


@dataclass(frozen=True, slots=True)
class Encodings:
    """All images of one reference, in folders that have enough of them."""

    reference: str
    """Path of the reference."""
    a: tuple[str, ...]
    """The paths of the images of A."""
    b: tuple[str, ...]
    """The paths of the images of B."""


@dataclass(slots=True)
class Matching:
    """What belongs together."""

    pairs: list[Pair] = field(default_factory=list[Pair])
    """In order of their names."""
    encodings: list[Encodings] = field(default_factory=list[Encodings])
    """In order of the references."""
    reference_of: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Side ("A" or "B") and path -> the path of the reference."""
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    """What belongs to nothing, and why."""


def match(a: Iterable[str], b: Iterable[str], references: Iterable[str] | None) -> Matching:
    """Match the images of two folders by their names.

    Args:
        a: The paths in folder A, relative to it, with ``/``.
        b: The same of folder B.
        references: The same of the folder of references; None without one.

    Returns:
        Pairs, curves and what is left.

    Raises:
        InputError: If nothing of A matches anything of B.
    """
    found = Matching()
    named_a, named_b = _by_name(a, "A", found), _by_name(b, "B", found)
    if references is not None:
        named = _by_name(references, "references", found)
        found.reference_of.update(_referenced("A", named_a, named, found))
        found.reference_of.update(_referenced("B", named_b, named, found))
    names = sorted(named_a.keys() & named_b.keys())
    found.pairs = [Pair(name, named_a[name], named_b[name]) for name in names]
    if references is not None:
        _match_by_reference(named_a, named_b, found)
    _leave_out_the_rest(named_a, named_b, found)
    if not found.pairs and not found.encodings:
        raise InputError(_nothing_matches(named_a, named_b, found))
    return found


def _by_name(paths: Iterable[str], side: Literal["A", "B", "references"], found: Matching) -> dict[str, str]:
    """Name -> path; files that share a name are left out, since nobody knows which is meant."""
    ordered = sorted(paths)
    count = Counter(map(_name, ordered))
    for path in ordered:
        if count[_name(path)] > 1:
            why = f"{count[_name(path)]} files are called {_name(path)!r} but for the extension; keep one of them"
            found.left_out.append(LeftOut(side=side, path=path, why=why))
    return {_name(path): path for path in ordered if count[_name(path)] == 1}


def _name(path: str) -> str:
    folder, slash, file = path.rpartition("/")
    stem, dot, _ = file.rpartition(".")
    return folder + slash + (stem if dot and stem else file)


def _referenced(
    side: Letter, images: dict[str, str], references: dict[str, str], found: Matching
) -> dict[tuple[str, str], str]:
    """The reference of each image; an image without one is taken out of `images`."""
    belongs: dict[tuple[str, str], str] = {}
    for name, path in list(images.items()):
        reference = find_reference(name, references)
        if reference is None:
            why = "no reference has its name or begins it"
            found.left_out.append(LeftOut(side=side, path=path, why=why))
            del images[name]
        else:
            belongs[side, path] = references[reference]
    return belongs


def find_reference(name: str, references: Iterable[str]) -> str | None:
    """The name of the reference that an image belongs to.

    Args:
        name: The image's path without extension.
        references: The references' paths without extension.

    Returns:
        One of them, or None.
    """
    known = references if isinstance(references, dict) else set(references)
    folders = name.split("/")
    for left_away in range(len(folders)):
        rest = "/".join(folders[left_away:])
        file_starts = rest.rfind("/") + 1
        for end in range(len(rest), file_starts, -1):
            if (end == len(rest) or not rest[end].isalnum()) and rest[:end] in known:
                return rest[:end]
    return None


def _match_by_reference(named_a: dict[str, str], named_b: dict[str, str], found: Matching) -> None:
    """Curves for references with enough encodings, and pairs where a reference has a single image in each folder."""
    images: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for (side, path), reference in found.reference_of.items():
        images[reference][0 if side == "A" else 1].append(path)
    # Two images of one name but different references are no pair: their folders mean different things.
    reference_of = found.reference_of
    found.pairs = [pair for pair in found.pairs if reference_of["A", pair.a] == reference_of["B", pair.b]]
    paired = {pair.a for pair in found.pairs}
    for reference, (of_a, of_b) in sorted(images.items()):
        if len(of_a) >= MIN_POINTS and len(of_b) >= MIN_POINTS:
            found.encodings.append(Encodings(reference, tuple(of_a), tuple(of_b)))
        elif len(of_a) == len(of_b) == 1 and of_a[0] not in paired:
            found.pairs.append(Pair(_name(reference), of_a[0], of_b[0]))
    found.pairs.sort(key=lambda pair: pair.name)


def _leave_out_the_rest(named_a: dict[str, str], named_b: dict[str, str], found: Matching) -> None:
    used_a = {pair.a for pair in found.pairs}.union(*(item.a for item in found.encodings))
    used_b = {pair.b for pair in found.pairs}.union(*(item.b for item in found.encodings))
    sides: Sequence[tuple[Letter, dict[str, str], set[str], str]] = (
        ("A", named_a, used_a, "B"), ("B", named_b, used_b, "A"),
    )  # fmt: skip
    for side, images, used, other in sides:
        for path in sorted(set(images.values()) - used):
            why = f"no image of {other} has its name"
            if (side, path) in found.reference_of:
                why += f", and its reference has fewer than {MIN_POINTS} images in A or in B"
            found.left_out.append(LeftOut(side=side, path=path, why=why))
            found.reference_of.pop((side, path), None)


def _nothing_matches(named_a: dict[str, str], named_b: dict[str, str], found: Matching) -> str:
    without = [item for item in found.left_out if item.why.startswith("no reference")]
    if without and not (named_a and named_b):
        return (
            f"no image of {without[0].side} has a reference, for example {without[0].path!r}; a reference has the "
            "image's name without its extension, or begins it, as street.png does street_q30.jpg"
        )
    shown = [repr(min(named.values())) if named else "nothing" for named in (named_a, named_b)]
    return (
        f"no image of A matches one of B: A has {shown[0]}, B has {shown[1]}, for example; "
        "give matching files the same name, whatever their extensions"
    )
