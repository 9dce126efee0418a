"""Causes of the difference between an image and its reference."""

import math

from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.measuring.detection_blind import SIGNS, Sign
from loopwright.workflows.iqa.measuring.features import PairFeatures
from loopwright.workflows.iqa.measuring.severity import CHANNEL_SHIFT, PAIRED, Limits

CAUSES = Limits("paired")
"""From and up to which numbers a cause counts."""


def misplaced(pair: PairFeatures) -> str | None:
    """That the image does not lie on its reference, in words; None if it does, or if that cannot be seen."""
    if pair.displaced >= CAUSES.apart:
        return f"the image is displaced by {pair.displaced:.1f} pixels against its reference; align both"
    foreign = pair.detail_gain < CAUSES.lost_detail and pair.detail_ratio**2 - pair.detail_gain > CAUSES.foreign_detail
    # Smoothed grain and sharpened edges are foreign, but lie where they were; behind specks, neither is seen.
    moved = pair.quarters_moved >= CAUSES.moved or pair.kept_shapes < CAUSES.other_shapes
    if not (foreign and moved) or pair.pixel_size_gain > SIGNS.repeated or pair.impulse_share >= CAUSES.speck_share:
        return None
    return "the image does not lie on its reference: it is another, or was turned, scaled or warped"


def uneven(pair: PairFeatures) -> str | None:
    """That the light changed from place to place, in words, if that is the difference."""
    smooth = pair.uneven_share >= CAUSES.uneven and pair.detail_gain >= 0.5
    found = smooth and pair.coder_error >= CAUSES.same_rms and pair.point_share <= CAUSES.mostly
    return "the light changed more in some places than in others, as by a vignette or a shadow" if found else None


def paired_candidates(pair: PairFeatures, *, grained: bool = False) -> list[Sign]:
    """The causes of the difference, the one that explains most first; none if the images are the same.

    Args:
        pair: The comparison.
        grained: Whether the image by itself has noise: that, with a filter, is blur and noise, since a coder leaves no
            grain.
    """
    if pair.rms_error < CAUSES.same_rms:
        return []
    washed_out = _washed_out(pair)
    found = [*washed_out, *_point(pair), *_specks(pair)]
    light = bool(found) and found[0].type != "impulse noise"
    structure = [] if washed_out else _structure(pair, grained=grained)
    # Of the error beside a strong change of light, a blur or noise that is plain to see holds next to nothing; what is
    # clipped and rounded then looks like a slight one, or like a wavelet coder.
    likely = (sign for sign in structure if light and sign.type != "jpeg2000")
    plain = [sign for sign in likely if _severity(sign, pair) >= Severity.MODERATE]
    if light and pair.point_share > CAUSES.mostly:
        found += plain
    elif not uneven(pair):
        found += _with_coder(structure, pair)
    total = max(pair.rms_error**2, sum(item.weight**2 for item in found))
    found = [item for item in found if item.weight**2 >= CAUSES.fair_share * total or item in plain]
    return sorted(found, key=lambda item: -item.weight)


def _severity(sign: Sign, pair: PairFeatures) -> Severity:
    gauge = PAIRED.get(sign.type, CHANNEL_SHIFT)
    return gauge.severity(gauge.read(pair))


def unexplained(pair: PairFeatures) -> str | None:
    """Why a difference was given no cause; None if there is no difference."""
    if pair.rms_error < CAUSES.same_rms:
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
    if pair.point_share < CAUSES.point_share:
        # What is laid over a part, as a mark is, shifts the mean as well, but leaves the rest as it was.
        laid_over = pair.unchanged_share >= CAUSES.untouched and not uneven(pair)
        alone = {} if laid_over else {_brightness(pair): brightness, "saturation change": pair.saturation_rms}
        return [Sign(name, 0.7, share, size) for name, size in alone.items() if size >= CAUSES.point_shift]
    sizes = {
        _brightness(pair): brightness,
        "low contrast" if pair.contrast_gain < 1 else "high contrast": pair.contrast_rms,
        "color cast": pair.color_shift_rms,
        "saturation change": pair.saturation_rms,
    }
    smooth = math.sqrt(sum(size**2 for size in sizes.values()))
    if pair.contrast_gain < 1 - CAUSES.same_gain:
        # Of a dark or bright scene, either changes both the mean and the contrast.
        both = math.hypot(brightness, pair.contrast_rms)
        if CAUSES.middle_low < pair.kept_level < CAUSES.middle_high:
            sizes |= {"low contrast": both, _brightness(pair): 0.0}
        elif pair.kept_level < CAUSES.black and pair.mean_shift < 0:
            sizes |= {"low contrast": 0.0, _brightness(pair): both}
    if pair.level_use_ratio < CAUSES.few_levels and pair.point_share > 0.9:
        sizes["banding"] = math.sqrt(max(0.0, rms**2 - smooth**2))
    name = max(sizes, key=lambda key: sizes[key])
    second = sorted(sizes.values())[-2]
    confidence = 0.6 + 0.38 * (1 - second / max(sizes[name], 1e-9)) * pair.point_share
    why = f"{share}, and of these it changes most ({sizes[name]:.3g} grey levels, the next {second:.3g})"
    # Light does not bring about a cast, nor missing levels: beside it they are causes of their own.
    own = {other: size for other, size in sizes.items() if other in ("color cast", "banding") and other != name}
    also = [Sign(other, 0.6, share, size) for other, size in own.items() if size > CAUSES.beside * sizes[name]]
    return [Sign(name, min(0.98, confidence), why, max(sizes[name], rms)), *also]


def _washed_out(pair: PairFeatures) -> list[Sign]:
    """Blur so strong that pixel by pixel it looks like a loss of contrast, which would keep the fine detail."""
    if pair.point_share < CAUSES.point_share or pair.contrast_gain > 1 or pair.detail_gain > CAUSES.no_detail:
        return []
    return [Sign("gaussian blur", 0.8, f"a gain of {pair.detail_gain:.2f} for fine detail", pair.rms_error)]


def _brightness(pair: PairFeatures) -> str:
    """A shift by a constant, or an exposure, which stretches or squeezes the range as well."""
    constant = abs(pair.mean_shift) > CAUSES.constant * math.sqrt(pair.point_share) * pair.rms_error
    if constant and abs(pair.contrast_gain - 1) < CAUSES.same_gain:
        return "mean shift"
    return "overexposure" if pair.mean_shift > 0 else "underexposure"


def _specks(pair: PairFeatures) -> list[Sign]:
    if pair.impulse_share < CAUSES.speck_share or pair.detail_gain > 1.35:
        return []
    weight = math.sqrt(pair.impulse_share) * pair.rms_error
    why = f"specks hold {pair.impulse_share:.0%} of the squared error, kurtosis {pair.residual_kurtosis:.3g}"
    return [Sign("impulse noise", min(0.99, 0.6 + 0.4 * pair.impulse_share), why, weight)]


def _structure(pair: PairFeatures, *, grained: bool) -> list[Sign]:
    """Blur, sharpening, coding, noise: what tone, colour and specks leave."""
    rest = math.hypot(pair.coder_error, pair.channel_shift_rms)
    if rest < CAUSES.same_rms:
        return []
    if pair.channel_shift_rms**2 > CAUSES.shifted_share * rest**2:
        why = f"the displacement explains {pair.channel_shift_rms:.3g} of {rest:.3g} grey levels"
        return [Sign("color distortions", 0.85, why, pair.channel_shift_rms)]
    if pair.pixel_size_gain > SIGNS.repeated:
        return [Sign("pixelation", 0.95, "columns and rows repeat exactly", rest)]
    if pair.detail_gain > CAUSES.sharpened and pair.filter_share > CAUSES.sharpen_share:
        confidence = min(0.97, 0.7 + 0.3 * pair.filter_share)
        return [Sign("oversharpening", confidence, _filter_words(pair), rest)]
    setting = pair.jpeg_quality
    # A quantiser leaves half a step at most: what is more was there before the file was written.
    most = CAUSES.coder_most * (50 / setting if setting < 50 else 2 - setting / 50)
    coded = pair.jpeg_evidence >= SIGNS.jpeg_evidence and setting < min(95.0, pair.reference_jpeg_quality - 3)
    if coded and pair.coder_error < most:
        return _jpeg(pair)
    if pair.filter_share > CAUSES.blur_share:
        return [_blur(pair, 0.7 + 2 * (pair.filter_share - CAUSES.blur_share))]
    if pair.level_use_ratio < CAUSES.few_levels and pair.residual_whiteness < CAUSES.white:
        return [Sign("banding", 0.9, "the levels between are empty, as neither noise nor a coder leaves them", rest)]
    noisy = pair.residual_flatness > CAUSES.noise_flatness
    if pair.filter_share < (CAUSES.noise_filter_share if noisy else CAUSES.no_filter_share):
        grainy = pair.residual_whiteness > (CAUSES.smooth if noisy else CAUSES.grainy)
        return [_noise(pair, 0.97)] if grainy and pair.residual_kurtosis < CAUSES.sparse else []
    unfiltered = max(1e-9, 1 - pair.filter_share)
    if grained or (pair.residual_flatness > 0.3 and pair.residual_flatness / unfiltered > CAUSES.even_rest):
        return [_blur(pair, 0.7), _noise(pair, 0.75)]
    if pair.detail_ratio**2 - pair.detail_gain > CAUSES.foreign_detail or pair.residual_whiteness < CAUSES.coded:
        return []
    confidence = 0.9 - 0.6 * max(0.0, pair.residual_flatness - 0.3) - 2 * max(0.0, pair.filter_share - 0.78)
    why = (
        f"{_filter_words(pair)}, the rest lies in textured areas (flatness {pair.residual_flatness:.2f}) without a grid"
    )
    return [Sign("jpeg2000", max(0.4, confidence), why, pair.coder_error)]


def _with_coder(found: list[Sign], pair: PairFeatures) -> list[Sign]:
    """With the JPEG coder beneath them; it is what passes for a wavelet coder then."""
    if not pair.coder_rms or any(sign.type == "jpeg" for sign in found):
        return found
    why = f"the error goes with what a coder of quality {pair.jpeg_quality:.0f} makes of the reference"
    others = [sign for sign in found if sign.type != "jpeg2000"]
    return [*others, Sign("jpeg", 0.9, why, pair.coder_rms)]


def _jpeg(pair: PairFeatures) -> list[Sign]:
    why = f"{pair.jpeg_evidence:.0%} of the inspected DCT coefficients lie on multiples of a step"
    confidence = min(0.99, 0.7 + 0.3 * pair.jpeg_evidence)
    if pair.filter_share > 0.7:
        return [_blur(pair, 0.75), Sign("jpeg", confidence, why, pair.residual_rms)]
    return [Sign("jpeg", confidence, why, pair.coder_error)]


def _blur(pair: PairFeatures, confidence: float) -> Sign:
    motion = pair.blur_sigma > 0.8 and pair.blur_sigma_minor < CAUSES.round_blur * pair.blur_sigma
    why = _filter_words(pair)
    if motion:
        why += f", along {pair.blur_direction:.0f} degrees"
    return Sign("motion blur" if motion else "gaussian blur", min(0.97, confidence), why, pair.filter_rms)


def _noise(pair: PairFeatures, confidence: float) -> Sign:
    proportional = pair.residual_luma_slope > CAUSES.proportional
    why = f"as strong in flat areas as elsewhere ({pair.residual_flatness:.2f}), kurtosis {pair.residual_kurtosis:.2f}"
    name = "multiplicative noise" if proportional else "gaussian noise"
    return Sign(name, confidence, why, pair.residual_rms)


def _filter_words(pair: PairFeatures) -> str:
    return f"a linear filter with a gain of {pair.detail_gain:.2f} for fine detail explains {pair.filter_share:.0%}"
