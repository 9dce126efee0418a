"""How an image differs from its reference: tone, colour, linear filter, and what is left."""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.measuring.features import planes
from loopwright.workflows.iqa.measuring.features.coding import coder_beneath, jpeg_trace, level_use, pixel_size
from loopwright.workflows.iqa.measuring.features.grain import fine_detail, specks
from loopwright.workflows.iqa.measuring.features.model import PairFeatures, Plane, Rgb
from loopwright.workflows.iqa.measuring.features.single import lab, surface


def linear_filter(image: Plane, origin: Plane) -> dict[str, float]:
    """Transfer function and coherence between reference and image by Welch's method.

    With cross spectrum Sxy and spectra Sxx, Syy, the best linear filter is Sxy / Sxx, and Syy - |Sxy|^2 / Sxx is what
    it leaves. Given are the fields of `PairFeatures` about the filter that leads from the toned reference to the image.
    """
    x, y = planes.tile_spectra(origin), planes.tile_spectra(image)
    sxx = planes.mean_power(x) + 1e-6
    syy = planes.mean_power(y)
    sxy = (np.conj(x) * y).mean(axis=0)
    sdd = planes.mean_power(y - x)
    # Each frequency spends one complex degree of freedom of as many as there are independent tiles.
    tiles = max(2.0, len(x) / 2.5)
    left = np.minimum(np.maximum(syy - np.abs(sxy) ** 2 / sxx, 0) * tiles / (tiles - 1), sdd)
    share = 1 - float(left.sum()) / max(float(sdd.sum()), 1e-9)
    size = x.shape[1]
    fx, fy = planes.frequencies(size)
    radius = np.hypot(fx, fy)
    gain = np.real(sxy) / sxx
    band = (radius > 0.15) & (radius < 0.4)
    detail = float(sxx[band].sum())
    detail_gain = float((gain[band] * sxx[band]).sum()) / detail
    major, minor, direction = _equivalent_gaussian(gain, sxx, fx, fy)
    return dict(
        filter_share=max(0.0, share),
        detail_gain=detail_gain,
        detail_ratio=math.sqrt(float(syy[band].sum()) / detail),
        blur_sigma=major,
        blur_sigma_minor=minor,
        blur_direction=direction,
    )


def _equivalent_gaussian(gain: Plane, weight: Plane, fx: Plane, fy: Plane) -> tuple[float, float, float]:
    """Axes in pixels and direction of the blur's covariance C, fitted by -ln(gain) = 2 pi^2 f' C f."""
    radius = np.hypot(fx, fy)
    use = (radius > 0.02) & (radius < 0.3) & (gain > 0.3)
    if use.sum() < 6:
        # Nothing but the lowest frequencies survived: the blur is wider than the tiles can tell.
        return 8.0, 8.0, 0.0
    x, y = fx[use].astype(np.float64), fy[use].astype(np.float64)
    loss = -np.log(np.clip(gain[use], 0.05, 4.0)) / (2 * np.pi**2)
    # Where little of the reference is, the gain is rough; the squared radius evens out the fall of natural spectra.
    scale = np.sqrt(np.sqrt(weight[use].astype(np.float64)))
    design = np.stack([x * x, 2 * x * y, y * y], axis=1)
    cxx, cxy, cyy = np.linalg.lstsq(design * scale[:, None], loss * scale, rcond=None)[0]
    values, vectors = np.linalg.eigh(np.array([[cxx, cxy], [cxy, cyy]]))
    direction = math.degrees(math.atan2(float(vectors[1, 1]), float(vectors[0, 1]))) % 180
    return math.sqrt(max(0.0, float(values[1]))), math.sqrt(max(0.0, float(values[0]))), direction


BENEATH = 0.6
"""Quality of a coder over that of a later one, or of the reference's own, up to which it is a coder of its own."""
ALIGNED = 0.3
"""Share of the squared error that may be left where a displacement of the whole image is its cause."""

Stack = NDArray[np.float32]
"""Three channels in grey levels: float32, shape (height, width, 3)."""


def measure_pair(rgb: Rgb, reference: Rgb) -> PairFeatures:
    """Measure how an image differs from its reference, which has the same shape.

    Of images with a side beyond 1,536 pixels, the middle 1,536 x 1,536 are compared at full resolution.

    Raises:
        ImageError: If an array is not uint8 RGB, or a side has fewer than 32 pixels.
    """
    rgb, reference = planes.detail_view(planes.checked(rgb)), planes.detail_view(planes.checked(reference))
    image, origin = rgb.astype(np.float32), reference.astype(np.float32)
    plane, origin_plane = planes.luma(rgb), planes.luma(reference)
    energy = planes.mean_square(image - origin)

    black, white, _ = specks(rgb)
    speck = (black | white) & (np.abs(image - origin) >= 25)
    speck_energy = float((np.where(speck, image - origin, 0) ** 2).mean())
    # A speck says nothing about tone or filter; the rest is analysed with the reference's own value in its place.
    clean = np.where(speck, origin, image)

    predicted, point = _point_operation(clean, origin)
    gain, saturation = point["contrast_gain"], point["saturation_ratio"]
    shifts, shifted, whole = _channel_shift(clean, predicted)
    toned_luma, image_luma = planes.luma(predicted), planes.luma(clean)
    displaced, moved = float(np.linalg.norm(whole)), _moved(toned_luma, whole)
    aligned = planes.mean_square(image_luma - moved) < ALIGNED * planes.mean_square(image_luma - toned_luma)
    linear = linear_filter(image_luma, toned_luma)
    # A motion blur to one side alone is a displacement too, in proportion to its length.
    track = linear_filter(image_luma, moved) if aligned else linear
    aligned = aligned and displaced > 2 * (track["blur_sigma"] - track["blur_sigma_minor"])
    left = clean - predicted
    left_energy = planes.mean_square(left)
    shift_energy = max(0.0, left_energy - planes.mean_square(clean - shifted)) if shifts > 0.15 else 0.0
    filter_energy = linear["filter_share"] * max(0.0, left_energy - shift_energy)
    rest = clean - shifted if shift_energy > 0.5 * left_energy else left
    # A change of saturation moves the mean colour as well; what is left of the move is the cast.
    color_a, color_b = (lab(rgb)[..., 1:] - saturation * lab(reference)[..., 1:]).mean(axis=(0, 1))
    differences = [(stack - planes.luma(stack)[..., None]).mean(axis=(0, 1)) for stack in (clean, origin)]
    # More contrast moves it too, by as much, though clipping hides the change of saturation.
    moves = (differences[0] - slope * differences[1] for slope in (saturation, max(gain, 1.0)))
    chroma_shift = min(moves, key=np.linalg.norm)
    flatness, steepness = _spread(rest, origin_plane)
    jpeg_quality, jpeg_evidence = jpeg_trace(plane)
    reference_quality = jpeg_trace(origin_plane)[0]
    setting, likeness = coder_beneath(image_luma, toned_luma)
    beneath = setting < BENEATH * min(jpeg_quality, reference_quality)
    grain = np.ascontiguousarray(rest[..., 1])
    squared = np.square(image - origin - (image - origin).mean())
    variance = float(squared.mean())
    shift, mean = float(image_luma.mean() - origin_plane.mean()), float(origin_plane.mean())
    return PairFeatures(
        rms_error=math.sqrt(energy),
        mean_luma=mean + shift,
        mean_shift=shift,
        unchanged_share=float((np.abs(plane - origin_plane) <= 1).mean()),
        kept_level=mean + shift / (1 - gain) if abs(gain - 1) > 1e-3 else math.nan,
        **point,
        color_shift=math.hypot(float(color_a), float(color_b)),
        color_shift_rms=float(np.sqrt((chroma_shift**2).mean())),
        level_use_ratio=level_use(rgb) / max(level_use(reference), 1e-3),
        channel_shift=shifts,
        channel_shift_rms=math.sqrt(shift_energy),
        filter_rms=math.sqrt(filter_energy),
        displaced=displaced if aligned else 0.0,
        quarters_moved=_quarters_moved(image_luma, toned_luma),
        uneven_share=_uneven(image_luma, toned_luma),
        **linear,
        residual_rms=math.sqrt(max(0.0, left_energy - shift_energy - filter_energy)),
        residual_flatness=flatness,
        residual_whiteness=math.sqrt(planes.mean_square(fine_detail(grain)) / (planes.mean_square(grain) + 1e-6)),
        residual_kurtosis=planes.mean_square(squared) / variance**2 if variance > 1e-6 else 3.0,
        residual_luma_slope=steepness,
        impulse_fraction=float(speck.mean()),
        impulse_share=speck_energy / max(energy, 1e-9),
        jpeg_quality=setting if beneath else jpeg_quality,
        jpeg_evidence=jpeg_evidence,
        coder_rms=likeness * math.sqrt(left_energy) if beneath else 0.0,
        reference_jpeg_quality=reference_quality,
        pixel_size_gain=pixel_size(plane) / pixel_size(origin_plane),
    )


def _uneven(image: Plane, toned: Plane) -> float:
    """Share of the squared error that a gain and a shift explain which are quadratic in the place."""
    # At even steps, what repeats every few rows would look the same everywhere.
    steps = np.arange(64) + np.random.default_rng(0).random((2, 64))
    down, across = ((part * side // 64).astype(np.intp) for part, side in zip(steps, image.shape, strict=True))
    after, before = (each[np.ix_(down, across)].ravel().astype(np.float64) for each in (image, toned))
    columns = np.concatenate([surface(), surface() * before[:, None]], axis=1)
    error = after - before
    explained = columns @ np.linalg.lstsq(columns, error, rcond=None)[0]
    return 1 - float(((error - explained) ** 2).mean() + 1e-9) / float((error**2).mean() + 1e-9)


def _quarters_moved(image: Plane, origin: Plane) -> float:
    """How far the four quarters of an image are moved, pixels: the second largest, since one may be without detail."""
    height, width = (side // 2 for side in image.shape)
    window = cv2.createHanningWindow((width, height), cv2.CV_32F)
    smooth = [cv2.GaussianBlur(plane, (0, 0), 1.5) for plane in (origin, image)]
    quarters = ([each[y:, x:][:height, :width].copy() for each in smooth] for y in (0, height) for x in (0, width))
    return sorted(math.hypot(*cv2.phaseCorrelate(before, after, window)[0]) for before, after in quarters)[2]


def _slope(image: NDArray[np.float32], origin: NDArray[np.float32]) -> float:
    """Least-squares slope of image over origin; 1 where the origin does not vary."""
    centred = origin - origin.mean()
    variance = planes.mean_square(centred)
    return float((centred * (image - image.mean())).mean()) / variance if variance > 0.5 else 1.0


def _point_operation(image: Stack, origin: Stack) -> tuple[Stack, dict[str, float]]:
    """Explain the error by a tone curve per channel, or by one colour matrix, whichever explains more.

    Slopes are taken from means over 8 x 8 blocks, which blur, noise and JPEG leave nearly alone. Given are the
    reference after it, and the fields of `PairFeatures` about it.
    """
    size = (max(1, image.shape[1] // 8), max(1, image.shape[0] // 8))
    low_image, low_origin = planes.area_mean(image, size), planes.area_mean(origin, size)
    lights = planes.luma(low_image), planes.luma(low_origin)
    gain = _slope(*lights)
    first, second = (light - cv2.GaussianBlur(light, (0, 0), 2) for light in lights)
    powers = planes.mean_square(first), planes.mean_square(second)
    differences = [(stack - planes.luma(stack)[..., None]) for stack in (low_image, low_origin)]
    flat_image, flat_origin = (stack - stack.mean(axis=(0, 1)) for stack in differences)
    slope = _slope(flat_image, flat_origin)
    # A gain of one channel has such a slope as well, which explains little of what it changes.
    alike = 2 * planes.mean_square(flat_image - slope * flat_origin) < planes.mean_square(flat_image - flat_origin)
    saturation = slope if alike else 1.0

    energy = planes.mean_square(image - origin)
    curves = np.stack([_tone_curve(image[..., c], origin[..., c]) for c in range(3)], axis=2)
    columns = np.pad(low_origin.reshape(-1, 3), ((0, 0), (0, 1)), constant_values=1)
    matrix = np.linalg.lstsq(columns, low_image.reshape(-1, 3), rcond=None)[0].astype(np.float32)
    mixed = np.clip(origin @ matrix[:3] + matrix[3], 0, 255)
    left = [(planes.mean_square(image - stack), stack) for stack in (curves, mixed, origin)]
    best_energy, best = min(left, key=lambda pair: pair[0])
    if not _holds_for_means(best, image, origin):
        best, best_energy = origin, energy
    return best, dict(
        point_share=1 - best_energy / max(energy, 1e-9),
        kept_shapes=float((first * second).mean()) ** 2 / (powers[0] * powers[1] + 1e-6) if powers[1] > 10 else 1.0,
        contrast_gain=gain,
        contrast_rms=abs(gain - 1) * float(lights[1].std()),
        saturation_ratio=saturation,
        saturation_rms=abs(saturation - 1) * float(flat_origin.std()),
    )


def _holds_for_means(predicted: Stack, image: Stack, origin: Stack) -> bool:
    """Whether the prediction also explains what the means over 16 x 16 blocks changed.

    Blur lowers the contrast of a fine texture, which looks like a tone curve pixel by pixel, but not in the means.
    """
    size = (max(1, predicted.shape[1] // 16), max(1, predicted.shape[0] // 16))
    low_image, low_origin, explained = (planes.area_mean(stack, size) for stack in (image, origin, predicted))
    return planes.mean_square(low_image - explained) < 0.15 * planes.mean_square(low_image - low_origin)


def _tone_curve(image: Plane, origin: Plane) -> Plane:
    """The mean of the image for each level of the reference, if that explains most; a smooth curve otherwise.

    Blur pulls the mean of the brightest and darkest levels inwards, which is no tone curve, so the exact curve is
    taken only where it leaves hardly anything.
    """
    index = origin.astype(np.intp)
    counts = np.bincount(index.ravel(), minlength=256)
    means = np.bincount(index.ravel(), image.ravel(), 256) / np.maximum(counts, 1)
    exact = means.astype(np.float32)[index]
    energy = planes.mean_square(image - origin)
    if planes.mean_square(image - exact) < 0.1 * energy:
        return exact
    size = (max(1, image.shape[1] // 8), max(1, image.shape[0] // 8))
    low_image, low_origin = planes.area_mean(image, size), planes.area_mean(origin, size)
    x = low_origin.ravel() / 255
    weights = np.linalg.lstsq(np.stack([np.ones_like(x), x, x**2, x**3], axis=1), low_image.ravel(), rcond=None)[0]
    levels = np.arange(256) / 255
    curve = weights[0] + weights[1] * levels + weights[2] * levels**2 + weights[3] * levels**3
    inside = (levels >= x.min()) & (levels <= x.max())
    # Beyond the levels that were seen, a cubic may run away; the ends continue the known curve level.
    curve = np.interp(levels, levels[inside], curve[inside]) if inside.any() else levels * 255
    return np.clip(curve, 0, 255).astype(np.float32)[index]


def _moved(plane: Plane, by: NDArray[np.float64]) -> Plane:
    move, size = np.array([[1, 0, by[0]], [0, 1, by[1]]], np.float32), (plane.shape[1], plane.shape[0])
    moved = cv2.warpAffine(plane, move, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(moved, np.float32)


def _channel_shift(image: Stack, origin: Stack) -> tuple[float, Stack, NDArray[np.float64]]:
    """How far red and blue are moved beyond green, pixels; the reference with them moved; how far green is, x and y."""
    window = cv2.createHanningWindow((image.shape[1], image.shape[0]), cv2.CV_32F)
    channels = zip(cv2.split(origin), cv2.split(image), strict=True)
    shifts = [np.array(cv2.phaseCorrelate(before, after, window)[0]) for before, after in channels]
    shifted = origin.copy()
    distances: list[float] = []
    for channel in (0, 2):
        by = shifts[channel] - shifts[1]
        distance = float(np.linalg.norm(by))
        if distance <= 12:
            distances.append(distance)
            shifted[..., channel] = _moved(origin[..., channel], by)
    return max(distances, default=0.0), shifted, shifts[1]


def _spread(residual: Stack, origin: Plane) -> tuple[float, float]:
    """Where the residual is: its energy in flat areas over the mean, and its log-log slope over luma."""
    tiles = planes.blocks(origin, 16)
    energy = planes.blocks(np.asarray((residual**2).mean(axis=2), np.float32), 16).mean(axis=(1, 2)) + 1e-6
    level = tiles.mean(axis=(1, 2))
    activity = tiles.std(axis=(1, 2))
    inside = (level > 15) & (level < 240)
    if inside.sum() < 12:
        inside = level >= 0
    flat = inside & (activity <= np.quantile(activity[inside], 0.25))
    flatness = float(energy[flat].mean() / energy[inside].mean())
    x, y = np.log(np.maximum(level[inside], 1)), np.log(energy[inside]) / 2
    spread = x - x.mean()
    variance = planes.mean_square(spread)
    return flatness, float((spread * y).mean()) / variance if variance > 0.02 else 0.0
