"""Distortions of a part of an image: beside its reference, what changed is measured by itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from loopwright.workflows.iqa.distortions import kind_of
from loopwright.workflows.iqa.measuring.changes import ChangedPart, changed_parts
from loopwright.workflows.iqa.measuring.detection import Detection, detect
from loopwright.workflows.iqa.measuring.detection_paired import SAME_RMS
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures, measure_pair
from loopwright.workflows.iqa.measuring.features.model import Rgb
from loopwright.workflows.iqa.measuring.likeness import strength
from loopwright.workflows.iqa.measuring.whereabouts import Fractions, place_words
from loopwright.workflows.iqa.schemas import DistortionFinding

ROOM = 64
"""Shorter side of a rectangle beside the parts from which it can speak for the rest, pixels."""
_PLACE = ("part_left", "part_top", "part_width", "part_height")


def detect_in_parts(
    rgb: Rgb, reference: Rgb | None, features: ImageFeatures, pair: PairFeatures | None = None
) -> Detection:
    """Find the distortions of an image, also those of a part of it.

    A blur of one half, taken as a change of the whole image, is a filter that explains half of the error: it looks like
    coding, and half as strong. So where only a part differs visibly from the reference, that part is compared
    alone.

    Args:
        rgb: The image, uint8, shape (height, width, 3).
        reference: The pristine image of the same shape, or None.
        features: What the image shows by itself (`measure`).
        pair: What the comparison of the whole images shows (`measure_pair`), if there is a reference.

    Returns:
        What `detect` finds, or what the parts show where that is something else; then each finding says where it is, in
        its explanation and in `measured` (see `place_of`).
    """
    whole = detect(features, pair)
    change = None if reference is None else changed_parts(rgb, reference)
    if reference is None or change is None:
        return whole
    local = _strongest(found for part in change.parts for found in _of_part(part, rgb, reference, features))
    if not local:
        return whole
    if change.rest >= SAME_RMS:
        beside = _beside(change.parts, rgb.shape[1], rgb.shape[0])
        rest = [] if beside is None else _of_part(beside, rgb, reference, features)
        if rest and kind_of(rest[0].type) is kind_of(local[0].type):
            # The same everywhere, though more of it meets the eye where the scene is busy.
            return whole
    return dataclasses.replace(whole, findings=local, abstained=None)


def place_of(finding: DistortionFinding) -> tuple[str, float] | None:
    """Where a finding is, if it is only in a part of the image.

    Args:
        finding: As `detect_in_parts` gives it.

    Returns:
        The place in words, such as "in the left half", and its share of the area, 0..1; None for the whole image.
    """
    if "part_share" not in finding.measured:
        return None
    left, top, width, height = (finding.measured[key] for key in _PLACE)
    return place_words((left, top, width, height)), finding.measured["part_share"]


def _of_part(part: ChangedPart, rgb: Rgb, reference: Rgb, features: ImageFeatures) -> list[DistortionFinding]:
    left, top, width, height = part.box
    inside = (slice(top, top + height), slice(left, left + width))
    found = detect(features, measure_pair(rgb[inside].copy(), reference[inside].copy()))
    return [_placed(finding, part, rgb.shape[1], rgb.shape[0]) for finding in found.findings]


def _placed(finding: DistortionFinding, part: ChangedPart, width: int, height: int) -> DistortionFinding:
    left, top, columns, rows = part.box
    place: Fractions = (left / width, top / height, columns / width, rows / height)
    where = (
        f"{place_words(place)}, {part.share:.0%} of the area (left, top, width, height: {left},{top},{columns},{rows})"
    )
    numbers = {key: round(value, 4) for key, value in zip(_PLACE, place, strict=True)}
    return finding.model_copy(
        update={
            "explanation": f"{finding.explanation.rstrip('.')}; measured {where}.",
            "measured": {**finding.measured, **numbers, "part_share": round(part.share, 4)},
        }
    )


def _strongest(findings: Iterable[DistortionFinding]) -> list[DistortionFinding]:
    """One finding of each type, the strongest; the strongest type first."""
    ordered = sorted(findings, key=strength, reverse=True)
    return list({item.type: item for item in reversed(ordered)}.values())[::-1]


def _beside(parts: Sequence[ChangedPart], width: int, height: int) -> ChangedPart | None:
    """The largest rectangle between the parts and a side of the image."""
    left, top = min(part.box[0] for part in parts), min(part.box[1] for part in parts)
    right, bottom = max(part.box[0] + part.box[2] for part in parts), max(part.box[1] + part.box[3] for part in parts)
    around = [
        (0, 0, left, height),
        (right, 0, width - right, height),
        (0, 0, width, top),
        (0, bottom, width, height - bottom),
    ]
    box = max((box for box in around if min(box[2:]) >= ROOM), key=lambda box: box[2] * box[3], default=None)
    return None if box is None else ChangedPart(box, box[2] * box[3] / (width * height))
