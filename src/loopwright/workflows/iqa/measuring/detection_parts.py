"""Distortions of a part of an image: beside its reference, what changed is measured by itself."""

import dataclasses
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.distortions import Distortion, kind_of
from loopwright.workflows.iqa.measuring.detection import Detection, detect
from loopwright.workflows.iqa.measuring.detection_blind import SIGNS, noise_signs
from loopwright.workflows.iqa.measuring.detection_paired import CAUSES
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures, measure_pair
from loopwright.workflows.iqa.measuring.features.grain import CELLS, fine_detail
from loopwright.workflows.iqa.measuring.features.model import ALIKE, Plane, Rgb
from loopwright.workflows.iqa.measuring.features.planes import LONG_SIDE, SMALLEST, block_means, quantiles
from loopwright.workflows.iqa.measuring.severity import Limits, assess, strength
from loopwright.workflows.iqa.measuring.whereabouts import Fractions, place_words
from loopwright.workflows.iqa.schemas import Box, DistortionFinding

PARTS = Limits("parts")
"""From and up to which numbers a part counts as changed."""


class ChangedPart(NamedTuple):
    """A part of an image that differs from its reference."""

    box: Box
    """Left, top, width and height, pixels."""
    share: float
    """Of the image's area, 0..1."""


def changed_parts(rgb: Rgb, reference: Rgb) -> list[ChangedPart]:
    """Find the parts of an image that differ from its reference while the rest does not, or not visibly.

    A distortion of the whole image leaves a smooth sky nearly as it was, so a cell speaks for the rest only where the
    reference has fine detail that every distortion would have changed.

    Returns:
        The parts, the largest first; none where the images are the same, differ as a whole, or in no compact part.
    """
    height, width = rgb.shape[:2]
    side = int(PARTS.cell) * -(-max(height, width) // LONG_SIDE)
    if min(height, width) < 4 * side:
        return []
    error, detail = _cells(rgb, reference, side)
    telling = detail >= PARTS.telling
    if np.count_nonzero(telling) < 8:
        return []
    # Without this, the busiest places of an evenly distorted image would be a part.
    changed = error > max(PARTS.changed, PARTS.above_rest * quantiles(error[telling], [0.2])[0])
    boxes = _boxes(changed, telling)
    outside = np.ones(error.shape, bool)
    for left, top, columns, rows in boxes:
        outside[top : top + rows, left : left + columns] = False
    # Whatever is changed has to lie in the boxes, and enough that would have changed has to lie outside.
    witnesses = outside & telling
    if not boxes or outside.mean() < 1 - PARTS.largest or np.count_nonzero(witnesses) < 0.1 * np.count_nonzero(telling):
        return []
    if np.count_nonzero(changed & witnesses) > PARTS.stray * np.count_nonzero(witnesses):
        return []
    rest = float(np.sqrt((error[outside] ** 2).mean()))
    if rest > PARTS.hardly_seen:
        return []
    found = [_exact(rgb, reference, _in_pixels(box, error.shape, side, width, height), rest) for box in boxes]
    parts = [ChangedPart(box, box[2] * box[3] / (width * height)) for box in found if min(box[2:]) >= SMALLEST]
    least = PARTS.smallest_share if rest <= PARTS.unseen else PARTS.large
    return sorted((part for part in parts if part.share >= least), key=lambda part: -part.share)


def _cells(rgb: Rgb, reference: Rgb, side: int) -> tuple[Plane, Plane]:
    """Error and fine detail of the reference, root mean squares by cell, strip by strip to bound the memory."""
    errors: list[Plane] = []
    details: list[Plane] = []
    rows = max(1, 1_000_000 // (rgb.shape[1] * side)) * side
    whole = rgb.shape[0] // side * side
    for top in range(0, whole, rows):
        bottom = min(top + rows, whole)
        difference = cv2.absdiff(rgb[top:bottom], reference[top:bottom]).astype(np.float32)
        squares = np.asarray(cv2.transform(difference * difference, np.full((1, 3), 1 / 3, np.float32)), np.float32)
        errors.append(block_means(squares, side))
        green = np.asarray(cv2.extractChannel(reference[top:bottom], 1), np.float32)
        details.append(block_means(fine_detail(green) ** 2, side))
    return np.sqrt(np.concatenate(errors)), np.sqrt(np.concatenate(details))


def _boxes(changed: NDArray[np.bool_], telling: NDArray[np.bool_]) -> list[Box]:
    """One box around everything that changed if it is filled, else one around each connected part."""
    mask = changed.astype(np.uint8)
    # A calm stretch in the middle of a change stays as it was; a single cell is chance.
    closed = cv2.morphologyEx(np.pad(mask, 2), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))[2:-2, 2:-2]
    _, _, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
    large = [stat for stat in stats[1:] if stat[cv2.CC_STAT_AREA] >= max(3, PARTS.smallest_share * mask.size)]
    if not large:
        return []
    boxes: list[Box] = [(int(x), int(y), int(w), int(h)) for x, y, w, h, _ in large]
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, bottom = max(box[0] + box[2] for box in boxes), max(box[1] + box[3] for box in boxes)
    together: Box = (left, top, right - left, bottom - top)
    if _filled(together, changed, telling):
        return [together]
    boxes = [box for box in boxes if _filled(box, changed, telling)]
    return boxes if len(boxes) <= PARTS.most_parts else []


def _filled(box: Box, changed: NDArray[np.bool_], telling: NDArray[np.bool_]) -> bool:
    left, top, columns, rows = box
    inside = (slice(top, top + rows), slice(left, left + columns))
    # Where nothing of the box could tell, what changed speaks for itself.
    speaking = changed[inside] | telling[inside]
    return bool(speaking.any()) and float(changed[inside][speaking].mean()) >= PARTS.filled


def _in_pixels(box: Box, shape: tuple[int, ...], side: int, width: int, height: int) -> Box:
    """With a cell's margin, in which the exact border is sought; the last cell ends with the image."""
    left, top, columns, rows = box
    right = width if left + columns >= shape[1] else (left + columns + 1) * side
    bottom = height if top + rows >= shape[0] else (top + rows + 1) * side
    first, upper = max(0, (left - 1) * side), max(0, (top - 1) * side)
    return first, upper, min(right, width) - first, min(bottom, height) - upper


def _exact(rgb: Rgb, reference: Rgb, box: Box, rest: float) -> Box:
    """The box without the border rows and columns that are not changed."""
    left, top, width, height = box
    inside = (slice(top, top + height), slice(left, left + width))
    error = cv2.absdiff(rgb[inside], reference[inside]).max(axis=2)
    first, count = _span(error.mean(axis=0, dtype=np.float32), rest)
    upper, rows = _span(error.mean(axis=1, dtype=np.float32), rest)
    return left + first, top + upper, count, rows


def _span(profile: NDArray[np.float32], rest: float) -> tuple[int, int]:
    """Where a profile first and last exceeds its faint borders: start and length."""
    # The larger of three channels' errors is a little above their root mean square.
    places = np.flatnonzero(profile > PARTS.faint * float(np.median(profile)) + 1.2 * rest)
    return (int(places[0]), int(places[-1] - places[0]) + 1) if len(places) else (0, len(profile))


EDITED = "a few places changed while the rest stayed as it was, as where something was pasted or painted over"
"""How an image differs from its reference that shows something else in a place."""
_PLACE = ("part_left", "part_top", "part_width", "part_height")


def detect_in_parts(
    rgb: Rgb, reference: Rgb | None, features: ImageFeatures, pair: PairFeatures | None = None
) -> Detection:
    """Find the distortions of an image, also those of a part of it.

    A blur of one half, taken as a change of the whole image, is a filter that explains half of the error: it looks like
    coding, and half as strong. So where only a part differs visibly from the reference, that part is compared
    alone.

    Returns:
        What `detect` finds, or what the parts show where that is something else; then each finding says where it is, in
        its explanation and in `measured` (see `place_of`).
    """
    blank = blank_lines(rgb, reference)
    if reference is not None and blank:
        return Detection(otherwise=blank)
    whole = detect(features, pair)
    if reference is None:
        return dataclasses.replace(_with_noisy_part(whole, rgb, features), otherwise=blank)
    by_part = [_of_part(part, rgb, reference, features) for part in changed_parts(rgb, reference)]
    edited = EDITED if None in by_part else None
    ordered = sorted((finding for found in by_part for finding in found or ()), key=strength)
    local = sorted({item.type: item for item in ordered}.values(), key=strength, reverse=True)
    if not local and not edited:
        return _unless_edited(whole, rgb, reference)
    return dataclasses.replace(whole, findings=local, abstained=None, otherwise=edited)


EVEN, STEP, PAGE, WHITE = 2, 8, 0.6, 250
"""Grey levels within which a row has one colour, and by which those near it differ; share of pixels like the next from
which it is a page or a screen, which has such rows by itself; and the level of a clipped sky."""


def blank_lines(rgb: Rgb, reference: Rgb | None) -> str | None:
    """Which rows or columns hold one colour and end abruptly, in words; none of a frame, rim, page or white sky."""
    why = "data was lost or a border was added" if reference is None else "data was lost"
    for name, axes in (("rows", (0, 1, 2)), ("columns", (1, 0, 2))):
        lines = rgb.transpose(axes)
        found, green = (np.ptp(lines[:, ::16], axis=1) <= EVEN).all(axis=1), lines[..., 1]
        found[found] = (np.ptp(lines[found], axis=1) <= EVEN).all(axis=1)
        if not found.any() or found.all() or np.mean(green[~found, 1:] == green[~found, :-1]) > PAGE:
            continue
        thin = len(found) // 100 + 1
        framed = found[:thin].all() and found[-thin:].all() and np.ptp(green[[0, -1], 0]) <= EVEN
        for first, last in np.flatnonzero(np.diff(found, prepend=False, append=False)).reshape(-1, 2):
            # Each side by its own border: over a page in a shadow, the light changes by as much in a few dozen lines.
            sides = ((green[max(first - 16, 0) : first], first), (green[last : last + 16], last - 1))
            beside = [np.abs(each - green[border].astype(int)) for each, border in sides if len(each)]
            steps = [np.quantile(apart, 0.25, axis=1).max() for apart in beside]
            rim = framed or last - first < thin or green[first].min() >= WHITE
            plain = np.ptp(green[first:last]) <= 2 * EVEN
            # What was plain before has lost nothing.
            plain &= reference is None or reference.transpose(axes)[first:last, :, 1].std(axis=1).mean() > STEP
            found[first:last] = plain and min(steps) >= STEP and not (len(beside) == 1 and rim)
        if found.mean() > 0.01:
            count = f"{found.sum()} of {len(found)} {name} ({found.mean():.0%} of the image, from {found.argmax() + 1})"
            return f"{count} hold one colour from end to end, as where {why}"
    return None


def _unless_edited(whole: Detection, rgb: Rgb, reference: Rgb) -> Detection:
    """Without a cause where detail stayed as it was nearly everywhere; specks alone leave most cells as they were."""
    specks = whole.findings and whole.findings[0].type == "impulse noise"
    if specks or not (whole.findings or whole.abstained) or min(rgb.shape[:2]) < PARTS.cell:
        return whole
    error, detail = _cells(rgb, reference, int(PARTS.cell) * -(-max(rgb.shape[:2]) // LONG_SIDE))
    same = error[detail >= PARTS.telling] < PARTS.changed
    if not same.size or same.mean() < PARTS.as_it_was:
        return whole
    return Detection(otherwise=EDITED)


def _with_noisy_part(whole: Detection, rgb: Rgb, features: ImageFeatures) -> Detection:
    """With the noise of a part, where the calm places of the whole have none: a noisy sky above a clean town."""
    if any(kind_of(finding.type) in (Distortion.NOISE, Distortion.SPATIAL) for finding in whole.findings):
        return whole
    cells = features.grained_cells
    if not cells:
        return whole
    # What the middle one of the noisy cells shows speaks for all.
    grain = sorted(grain for _, grain in cells)[len(cells) // 2]
    cell = dataclasses.replace(features, colour_noise=0.0, grain=grain)
    # Gravel and leaves are as white, but the same in all channels; noise that a coder smeared is, too.
    most = SIGNS.guessed if grain.likeness >= ALIKE else 1.0
    found = [
        assess(sign.type, cell, confidence=round(min(most, sign.confidence), 3), why=sign.why)
        for sign in noise_signs(cell)
    ]
    rows, columns = zip(*(divmod(place, CELLS) for place, _ in cells), strict=True)
    height, width = rgb.shape[:2]
    left, top = min(columns) * width // CELLS, min(rows) * height // CELLS
    right, bottom = (max(columns) + 1) * width // CELLS, (max(rows) + 1) * height // CELLS
    part = ChangedPart((left, top, right - left, bottom - top), len(cells) / CELLS**2)
    placed = [_placed(finding, part, width, height) for finding in found]
    findings = sorted([*whole.findings, *placed], key=lambda finding: -finding.confidence * finding.severity.rank)
    return dataclasses.replace(whole, findings=findings, abstained=None)


def place_of(finding: DistortionFinding) -> tuple[str, float] | None:
    """The place of a finding in words, "in the left half", and its share of the area, 0..1; None for the whole."""
    if "part_share" not in finding.measured:
        return None
    left, top, width, height = (finding.measured[key] for key in _PLACE)
    return place_words((left, top, width, height)), finding.measured["part_share"]


def _of_part(part: ChangedPart, rgb: Rgb, reference: Rgb, features: ImageFeatures) -> list[DistortionFinding] | None:
    """What is found in a part alone; None if it shows something else there than the reference."""
    left, top, width, height = part.box
    inside = (slice(top, top + height), slice(left, left + width))
    pair = measure_pair(rgb[inside].copy(), reference[inside].copy())
    if (
        pair.kept_shapes < CAUSES.other_shapes
        and pair.detail_gain < CAUSES.lost_detail
        and pair.pixel_size_gain <= SIGNS.repeated
    ):
        return None
    return [_placed(finding, part, rgb.shape[1], rgb.shape[0]) for finding in detect(features, pair).findings]


def _placed(finding: DistortionFinding, part: ChangedPart, width: int, height: int) -> DistortionFinding:
    left, top, columns, rows = part.box
    place: Fractions = (left / width, top / height, columns / width, rows / height)
    where = (
        f"{place_words(place)}, {part.share:.0%} of the area (left, top, width, height: {left},{top},{columns},{rows})"
    )
    numbers = {key: round(value, 4) for key, value in zip(_PLACE, place, strict=True)}
    measured = {**finding.measured, **numbers, "part_share": round(part.share, 4)}
    explanation = f"{finding.explanation.rstrip('.')}; measured {where}."
    return finding.model_copy(update={"explanation": explanation, "measured": measured})
