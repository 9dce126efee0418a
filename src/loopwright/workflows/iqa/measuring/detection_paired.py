"""Causes of the difference between an image and its reference."""

import math

from loopwright.workflows.iqa.measuring.detection_blind import JPEG_EVIDENCE, REPEATED, Sign
from loopwright.workflows.iqa.measuring.features import PairFeatures

SAME_RMS = 0.75
"""Error up to which two images count as the same, grey levels: a re-encoding at the highest quality."""
FAIR_SHARE = 0.1
"""Share of the squared error that a second cause must hold to be named."""
POINT_SHARE = 0.4
"""Share of the squared error from which a point operation is a cause; blur reaches 0.3 by dulling highlights."""
MOSTLY = 0.93
"""Share of the squared error up to which a point operation leaves more than its rounding and clipping."""
BESIDE = 0.5
"""Size over that of the point operation that changes most from which a cast or missing levels are named beside it."""
POINT_SHIFT = 4.0
"""Shift of the mean from which brightness is a cause even under heavy noise, grey levels; neither noise nor blur
shift it."""
NO_DETAIL = 0.05
"""Gain of fine detail below which nothing is left of it; a tone curve keeps it above 0.9."""
BLUR_SHARE = 0.86
"""Filter share from which the filter alone is the cause; JPEG 2000 stays below 0.85, blur above 0.9."""
ROUND_BLUR = 0.55
"""Ratio of the axes of the blur below which it is motion."""
SHARPENED = 1.12
"""Gain of fine detail from which it is sharpening."""
SHARPEN_SHARE = 0.35
"""Filter share that sharpening needs; clipping at black and white keeps it far below 1."""
NOISE_FLATNESS = 0.6
"""Residual energy in flat areas over its mean from which it is noise; coding stays below 0.55 except at its weakest."""
NOISE_FILTER_SHARE = 0.08
"""Filter share below which an even residual is noise."""
NO_FILTER_SHARE = 0.03
"""Filter share below which any residual is noise: every coder takes away some fine detail, which a filter explains."""
CONSTANT = 0.97
"""Shift of the mean over what point operations change from which it is the same shift everywhere, no exposure."""
PROPORTIONAL = 0.55
"""Log-log slope of the residual over luma from which the noise is multiplicative."""
SPECK_SHARE = 0.25
"""Share of the squared error in black and white specks from which it is impulse noise; strong Gaussian noise reaches
0.16."""
SAME_GAIN = 0.08
"""Change of contrast up to which a constant shift is one; an exposure stretches or squeezes the range as well."""
MIDDLE = (40.0, 215.0)
"""Between these grey levels lies the one that a loss of contrast keeps; too little light keeps black (below `BLACK`),
too much of it keeps none."""
BLACK = 8.0
"""Grey level up to which what a change keeps is black."""
EVEN_REST = 1.3
"""Energy in flat areas over that of what the filter leaves from which there is noise besides the blur."""
FEW_LEVELS = 0.4
"""Used levels over the reference's below which it is banding."""
SHIFTED_SHARE = 0.45
"""Share of the error, without point operations, that a displacement of colour channels must explain."""
APART = 0.4
"""Displacement from which a pair cannot be compared, pixels; from there on it passes for blur."""
FOREIGN_DETAIL = 0.35
"""Power of fine detail that the reference has nothing of, over the power of its own, from which the image shows other
things there; a coder leaves at most 0.25, but for a JPEG coder's blocks."""
MOVED = 0.7
"""Pixels from which quarters are moved; nearly all restored images stay below, but for small ones (128 pixels)."""
OTHER_SHAPES = 0.2
"""`kept_shapes` below which something else is shown: of 238 such boxes 198 are below, 22 of 1,746 distorted."""
LOST_DETAIL = 0.65
"""Gain of fine detail below which that is no noise, which leaves it at 1."""
UNEVEN = 0.9
"""Share of the error that uneven light must explain; of blurred text it explains as much, but no detail is left."""


def misplaced(pair: PairFeatures) -> str | None:
    """That the image does not lie on its reference, in words; None if it does, or if that cannot be seen."""
    if pair.displaced >= APART:
        return f"the image is displaced by {pair.displaced:.1f} pixels against its reference; align both"
    foreign = pair.detail_gain < LOST_DETAIL and pair.detail_ratio**2 - pair.detail_gain > FOREIGN_DETAIL
    # Smoothed grain and sharpened edges are foreign, but lie where they were; behind specks, neither is seen.
    moved = pair.quarters_moved >= MOVED or pair.kept_shapes < OTHER_SHAPES
    if not (foreign and moved) or pair.pixel_size_gain > REPEATED or pair.impulse_share >= SPECK_SHARE:
        return None
    return "the image does not lie on its reference: it is another, or was turned, scaled or warped"


def uneven(pair: PairFeatures) -> str | None:
    """That the light changed from place to place, in words, if that is the difference."""
    smooth = pair.uneven_share >= UNEVEN and pair.detail_gain >= 0.5
    found = smooth and pair.coder_error >= SAME_RMS and pair.point_share <= MOSTLY
    return "the light changed more in some places than in others, as by a vignette or a shadow" if found else None


def paired_candidates(pair: PairFeatures, *, grained: bool = False) -> list[Sign]:
    """The causes of the difference, the one that explains most first; none if the images are the same.

    Args:
        pair: The comparison.
        grained: Whether the image by itself has noise: that, with a filter, is blur and noise, since a coder leaves no
            grain.
    """
    if pair.rms_error < SAME_RMS:
        return []
    found = [*_washed_out(pair), *_point(pair), *_specks(pair)]
    if uneven(pair) is None and (not found or found[0].type == "impulse noise" or pair.point_share <= MOSTLY):
        found += _structure(pair, grained=grained)
    total = max(pair.rms_error**2, sum(item.weight**2 for item in found))
    found = [item for item in found if item.weight**2 >= FAIR_SHARE * total]
    return sorted(found, key=lambda item: -item.weight)


def unexplained(pair: PairFeatures) -> str | None:
    """Why a difference was given no cause; None if there is no difference."""
    if pair.rms_error < SAME_RMS:
        return None
    return (
        f"the image differs from its reference by {pair.rms_error:.2g} grey levels (root mean square), "
        "too little of any one kind to say which distortion it is"
    )


def _point(pair: PairFeatures) -> list[Sign]:
    """Brightness, contrast, colour cast, saturation, or banding: the one that changes most."""
    rms = math.sqrt(pair.point_share) * pair.rms_error
    brightness = abs(pair.mean_shift)
    share = f"point operations explain {pair.point_share:.0%} of the error"
    if pair.point_share < POINT_SHARE:
        if brightness < POINT_SHIFT:
            return []
        return [Sign(_brightness(pair), 0.7, share, brightness)]
    sizes = {
        _brightness(pair): brightness,
        "low contrast" if pair.contrast_gain < 1 else "high contrast": pair.contrast_rms,
        "color cast": pair.color_shift_rms,
        "saturation change": pair.saturation_rms,
    }
    smooth = math.sqrt(sum(size**2 for size in sizes.values()))
    if pair.contrast_gain < 1 - SAME_GAIN:
        # Of a dark or bright scene, either changes both the mean and the contrast.
        both = math.hypot(brightness, pair.contrast_rms)
        if MIDDLE[0] < pair.kept_level < MIDDLE[1]:
            sizes |= {"low contrast": both, _brightness(pair): 0.0}
        elif pair.kept_level < BLACK and pair.mean_shift < 0:
            sizes |= {"low contrast": 0.0, _brightness(pair): both}
    if pair.level_use_ratio < FEW_LEVELS and pair.point_share > 0.9:
        sizes["banding"] = math.sqrt(max(0.0, rms**2 - smooth**2))
    name = max(sizes, key=lambda key: sizes[key])
    second = sorted(sizes.values())[-2]
    confidence = 0.6 + 0.38 * (1 - second / max(sizes[name], 1e-9)) * pair.point_share
    why = f"{share}, and of these it changes most ({sizes[name]:.3g} grey levels, the next {second:.3g})"
    # Light does not bring about a cast, nor missing levels: beside it they are causes of their own.
    own = {other: size for other, size in sizes.items() if other in ("color cast", "banding") and other != name}
    also = [Sign(other, 0.6, share, size) for other, size in own.items() if size > BESIDE * sizes[name]]
    return [Sign(name, min(0.98, confidence), why, max(sizes[name], rms)), *also]


def _washed_out(pair: PairFeatures) -> list[Sign]:
    """Blur so strong that pixel by pixel it looks like a loss of contrast, which would keep the fine detail."""
    if pair.point_share < POINT_SHARE or pair.contrast_gain > 1 or pair.detail_gain > NO_DETAIL:
        return []
    return [Sign("gaussian blur", 0.8, f"a gain of {pair.detail_gain:.2f} for fine detail", pair.rms_error)]


def _brightness(pair: PairFeatures) -> str:
    """A shift by a constant, or an exposure, which stretches or squeezes the range as well."""
    constant = abs(pair.mean_shift) > CONSTANT * math.sqrt(pair.point_share) * pair.rms_error
    if constant and abs(pair.contrast_gain - 1) < SAME_GAIN:
        return "mean shift"
    return "overexposure" if pair.mean_shift > 0 else "underexposure"


def _specks(pair: PairFeatures) -> list[Sign]:
    if pair.impulse_share < SPECK_SHARE or pair.detail_gain > 1.35:
        return []
    weight = math.sqrt(pair.impulse_share) * pair.rms_error
    why = f"specks hold {pair.impulse_share:.0%} of the squared error, kurtosis {pair.residual_kurtosis:.3g}"
    return [Sign("impulse noise", min(0.99, 0.6 + 0.4 * pair.impulse_share), why, weight)]


def _structure(pair: PairFeatures, *, grained: bool) -> list[Sign]:
    """Blur, sharpening, coding, noise: what tone, colour and specks leave."""
    rest = math.hypot(pair.coder_error, pair.channel_shift_rms)
    if rest < SAME_RMS:
        return []
    if pair.channel_shift_rms**2 > SHIFTED_SHARE * rest**2:
        why = f"the displacement explains {pair.channel_shift_rms:.3g} of {rest:.3g} grey levels"
        return [Sign("color distortions", 0.85, why, pair.channel_shift_rms)]
    if pair.pixel_size_gain > REPEATED:
        return [Sign("pixelation", 0.95, "columns and rows repeat exactly", rest)]
    if pair.detail_gain > SHARPENED and pair.filter_share > SHARPEN_SHARE:
        confidence = min(0.97, 0.7 + 0.3 * pair.filter_share)
        return [Sign("oversharpening", confidence, _filter_words(pair), rest)]
    if pair.jpeg_evidence >= JPEG_EVIDENCE and pair.jpeg_quality < min(95.0, pair.reference_jpeg_quality - 3):
        return _jpeg(pair)
    if pair.filter_share > BLUR_SHARE:
        return [_blur(pair, 0.7 + 2 * (pair.filter_share - BLUR_SHARE))]
    noisy = pair.residual_flatness > NOISE_FLATNESS
    if pair.filter_share < (NOISE_FILTER_SHARE if noisy else NO_FILTER_SHARE):
        return [_noise(pair, 0.97)]
    unfiltered = max(1e-9, 1 - pair.filter_share)
    if grained or (pair.residual_flatness > 0.3 and pair.residual_flatness / unfiltered > EVEN_REST):
        return [_blur(pair, 0.7), _noise(pair, 0.75)]
    confidence = 0.9 - 0.6 * max(0.0, pair.residual_flatness - 0.3) - 2 * max(0.0, pair.filter_share - 0.78)
    why = (
        f"{_filter_words(pair)}, the rest lies in textured areas (flatness {pair.residual_flatness:.2f}) without a grid"
    )
    return [Sign("jpeg2000", max(0.4, confidence), why, pair.coder_error)]


def _jpeg(pair: PairFeatures) -> list[Sign]:
    why = f"{pair.jpeg_evidence:.0%} of the inspected DCT coefficients lie on multiples of a step"
    confidence = min(0.99, 0.7 + 0.3 * pair.jpeg_evidence)
    if pair.filter_share > 0.7:
        return [_blur(pair, 0.75), Sign("jpeg", confidence, why, pair.residual_rms)]
    return [Sign("jpeg", confidence, why, pair.coder_error)]


def _blur(pair: PairFeatures, confidence: float) -> Sign:
    motion = pair.blur_sigma > 0.8 and pair.blur_sigma_minor < ROUND_BLUR * pair.blur_sigma
    why = _filter_words(pair)
    if motion:
        why += f", along {pair.blur_direction:.0f} degrees"
    return Sign("motion blur" if motion else "gaussian blur", min(0.97, confidence), why, pair.filter_rms)


def _noise(pair: PairFeatures, confidence: float) -> Sign:
    proportional = pair.residual_luma_slope > PROPORTIONAL
    why = f"as strong in flat areas as elsewhere ({pair.residual_flatness:.2f}), kurtosis {pair.residual_kurtosis:.2f}"
    name = "multiplicative noise" if proportional else "gaussian noise"
    return Sign(name, confidence, why, pair.residual_rms)


def _filter_words(pair: PairFeatures) -> str:
    return f"a linear filter with a gain of {pair.detail_gain:.2f} for fine detail explains {pair.filter_share:.0%}"
