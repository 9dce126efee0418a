"""Signs of distortions in an image by itself, and what else could bring them about."""

from typing import NamedTuple

from loopwright.workflows.iqa.distortions import Distortion, kind_of
from loopwright.workflows.iqa.measuring.features import ImageFeatures
from loopwright.workflows.iqa.measuring.features.model import BLOTCHED, DIRECTED, VISIBLE_NOISE, WHITE
from loopwright.workflows.iqa.measuring.severity import is_veiled
from loopwright.workflows.iqa.schemas import DistortionFinding

REPEATED = 1.6
"""Mean side of repeated pixels from which an image is pixelated."""
FEW_LEVELS = 0.25
"""Share of used levels below which an image is banded; the contrast stretch of a camera stays above 0.4."""
JPEG_EVIDENCE = 0.5
"""Share of DCT coefficients on multiples of a step from which a JPEG coder was there."""
UNLIKE = 0.35
"""Correlation of the channels' grain below which it is noise, though it be as coarse as texture: texture has the same
grain in all channels (0.45 and more)."""
EVEN = 0.85
"""Density of specks in calm areas over the mean from which they are no texture."""
TWO_SIDED = 0.2
"""Share of the rarer colour among specks from which they are no stars, no dust and no sharpened texture."""
LONE = 0.3
"""`impulse_surroundings` up to which specks of one colour are none of the scene."""
ANNOUNCED = 0.8
"""`impulse_surroundings` from which specks are the tips of strokes: impulses stay below 0.6 up to a fifth of all
samples, sharp text and its enlargements have 1.0 and more."""
SPECKS_OVER_NOISE = 2.0
"""How far the root mean square of the specks must exceed the noise between them; the tails of Gaussian noise do not."""
MOTION_EDGE = 1.2
"""Blur of the sharpest tiles up to which a directional loss is motion, pixels: motion leaves the edges along it
sharp, while strong round blur leaves so little fine detail that its direction is chance."""
MOTION_STRONG = 0.5
"""Median blur of the strongest edges from which a directional loss can be motion, pixels. Lines of text make the
spectrum as uneven, but sharp text stays below 0.4; photographs blurred by a motion of 5 to 15 pixels have 0.6 and more.
"""
BLURRED = 0.9
"""Median blur of the strongest edges from which the whole image may be blurred, pixels; sharp photographs stay below
0.85, also with bokeh, since what is in focus has the strongest edges."""
BLURRED_IN_NOISE = 0.95
"""The same at half the size (`edge_sigma_half`); sharp photographs stay below 0.8 under noise of up to 30 grey levels,
blurred by 2 pixels they have 1.0 and more."""
NO_SHARP_TILE = 0.4
"""Blur that even the sharpest tiles have in a blurred image, pixels."""
NO_FINE_DETAIL = 0.7
"""Share of the textured area without the finest detail that comes with blur; sharp photographs stay below 0.65."""
WIPED = 0.97
"""Weak edges' blur over that of strong ones from which a wavelet coder is likelier than blur, which widens strong
ones more."""
STRAIGHT = 1.2
"""Unevenness of the spectrum from which a loss is motion whatever the weak edges say; what a wavelet coder leaves stays
below 0.7 on twelve references at any rate, a motion of 9 to 21 pixels has 1.0 to 2.1."""
ALL_WIDE = 1.5
"""Blur of the strongest edges from which no part is as it was, pixels: a wavelet coder that can be stated leaves 1.56
to 1.91, half of a photograph blurred 0.8 to 1.4."""
GUESSED = 0.55
"""Confidence at most in one of two types that leave the same signs."""
SHARP_SUBJECT = 2.5
"""The same ratio from which the weak edges belong to a background out of focus."""
SHARPENED = 2.9
"""Gradient ratio at edges from which an image is sharpened; a perfect step gives at most 3, sharp photographs up to
2.75."""
VISIBLE_QUALITY = 72.0
"""JPEG quality from which nobody sees the coder; other signs are then looked for."""
TINTED = 20.0
"""Tint that highlights and mean share from which there may be a cast, CIELAB units."""
STRONG_TINT = 26.0
"""Tint from which the confidence in a cast rises with it, CIELAB units; it is sure at ten more."""
COMPACT = 1.2
"""That tint over the spread of the colours from which they may all have moved together; a scene of many strong colours
has .9 at most. Of 127 photographs as they are 6 have more, and so has a door painted red: it speaks for a cast, and
proves none."""
GREYLESS = 0.06
"""Share of grey from which a scene shows that its light is white."""
STEEP = 2.6
"""Gradient ratio from which an image may be sharpened; of 74 photographs one has more."""
COLOURLESS = 1.0
"""Mean chroma below which there is no colour, CIELAB units."""
ALL_LEVELS = 0.9
"""Share of used levels from which an image may be a photograph; screens have .3 to .8."""
VIVID = 45.0
"""Mean chroma from which the colours may be overdone, CIELAB units."""
CLIPPED = 0.15
"""Share of clipped pixels from which a bright image is overexposed rather than bright."""
WHITE_OUT = 230.0
"""Grey level that 99% of the pixels exceed where light has left nothing to see; a line of text on paper is darker."""

VEIL_CONFIDENCE = 0.5
"""Confidence in blur where no edge is left to measure: likely in a photograph, but never certain."""
_SOFTNESS = (Distortion.BLURS, Distortion.SHARPNESS)


class Sign(NamedTuple):
    """A type and how much its sign can be trusted."""

    type: str
    confidence: float
    why: str
    weight: float = 0.0
    """Beside a reference, what it explains of the error, root mean square in grey levels."""


def blind_candidates(features: ImageFeatures) -> list[Sign]:
    """The types whose signs the image shows; a strong artefact that fakes other signs silences them."""
    if features.pixel_size > REPEATED:
        return [Sign("pixelation", 0.92, "columns and rows repeat exactly"), *_tone(features, clean=True)]
    if coded := _jpeg(features):
        return [*coded, *_blur(features, coded=True), *_tone(features, clean=True)]
    noise = noise_signs(features)
    banded = [Sign("banding", 0.9, "the levels between are empty")] if features.level_use < FEW_LEVELS else []
    found = banded or _specks(features) or [*noise, *_blur_in_noise(features, noise)]
    if not found:
        found = [*_blur(features, coded=False), *_sharpened(features)]
    return [*found, *_tone(features, clean=not found)]


class Doubt(NamedTuple):
    """What can be neither stated nor ruled out."""

    kinds: tuple[Distortion, ...]
    """The kinds of distortion that it is about."""
    why: str
    """The sign that a scene could bring about as well, or what cannot be measured."""


def unmeasured(features: ImageFeatures, findings: list[DistortionFinding]) -> list[Doubt]:
    """What no finding of another kind can settle: sharpness where there is nothing to judge it by."""
    if any(kind_of(finding.type) is Distortion.BLURS for finding in findings):
        return []
    if any(finding.type == "jpeg2000" for finding in findings):
        return [Doubt(_SOFTNESS, "what a wavelet coder may have left may be blur as well")]
    if features.edge_tiles > 0:
        return []
    return [Doubt(_SOFTNESS, "without a single clear edge, sharpness cannot be judged")]


def doubts(features: ImageFeatures, findings: list[DistortionFinding]) -> list[Doubt]:
    """Why no type is stated, where the image is unusual enough to wonder; none for an image that looks clean."""
    reasons = [
        Doubt((kind_of(finding.type),), f"{finding.type} is only a guess ({finding.confidence:.0%})")
        for finding in findings
    ]
    luma, spread, tint = features.mean_luma, features.contrast_range, features.cast
    chroma, steep = features.chroma, features.edge_ratio
    light, colour = Distortion.BRIGHTNESS, Distortion.COLOR
    signs = [
        (luma < 60, light, f"a mean luma of {luma:.0f} may be underexposure or a dark scene"),
        (luma > 190, light, f"a mean luma of {luma:.0f} may be overexposure or a bright scene"),
        (spread < 120, Distortion.CONTRAST, f"a luma range of {spread:.0f} may be low contrast or a soft scene"),
        (chroma < COLOURLESS, colour, "without any colour it may be desaturated or a black-and-white photograph"),
        (COLOURLESS <= chroma < 5, colour, f"a mean chroma of {chroma:.1f} may be desaturation or a grey scene"),
        (tint > 15, colour, f"a common tint of {tint:.0f} CIELAB units may be a colour cast or coloured light"),
        (chroma > VIVID, colour, f"a mean chroma of {chroma:.0f} may be oversaturation or a vivid scene"),
        (
            steep > STEEP and features.jpeg_evidence < JPEG_EVIDENCE, Distortion.SHARPNESS,
            f"edges {steep:.1f} times as steep may be sharpened or fine strokes",
        ),
    ]  # fmt: skip
    reasons += [Doubt((kind,), why) for holds, kind, why in signs if holds]
    return reasons + unmeasured(features, findings)


def _specks(features: ImageFeatures) -> list[Sign]:
    spread = 127 * features.impulse_fraction**0.5
    noise = max([features.noise_sigma, *(cell[0] for _, cell in features.grained_cells)])
    # Specks that came after a JPEG coder would have wiped its trace, and it would have smeared those from before.
    if features.jpeg_evidence >= JPEG_EVIDENCE or features.impulse_fraction < 0.001:
        return []
    # White dots alone, as on a scan, stand out from their neighbours more than any star does.
    if features.impulse_surroundings > (LONE if features.impulse_balance <= TWO_SIDED else ANNOUNCED):
        return []
    if not features.impulse_evenness > EVEN or spread < SPECKS_OVER_NOISE * noise:
        return []
    why = f"as dense in calm areas as elsewhere ({features.impulse_evenness:.2f})"
    return [Sign("impulse noise", 0.95 if features.impulse_fraction > 0.004 else 0.75, why)]


def noise_signs(features: ImageFeatures) -> list[Sign]:
    """Noise, by the numbers of the flattest areas."""
    if features.colour_noise > BLOTCHED and features.noise_whiteness < WHITE:
        confidence = min(0.9, 0.65 + 0.1 * (features.colour_noise - BLOTCHED))
        return [Sign("gaussian noise", confidence, "blotches of colour, also where nothing else is")]
    if features.noise_sigma < VISIBLE_NOISE:
        return []
    if features.noise_whiteness < WHITE:
        if features.noise_likeness > UNLIKE or features.jpeg_evidence >= JPEG_EVIDENCE:
            return []
        why = f"different in each channel as noise is (correlation {features.noise_likeness:.2f})"
        return [Sign("gaussian noise", min(0.9, 0.55 + UNLIKE - features.noise_likeness), why)]
    confidence = min(0.95, 0.55 + 0.8 * (features.noise_whiteness - WHITE) + 0.01 * features.noise_sigma)
    why = f"fine-grained as noise is (whiteness {features.noise_whiteness:.2f} of 2)"
    return [Sign("gaussian noise", confidence, why)]


def _jpeg(features: ImageFeatures) -> list[Sign]:
    if features.jpeg_evidence < JPEG_EVIDENCE or features.jpeg_quality > VISIBLE_QUALITY:
        return []
    why = f"{features.jpeg_evidence:.0%} of the inspected DCT coefficients lie on multiples of a step"
    return [Sign("jpeg", min(0.98, 0.6 + 0.4 * features.jpeg_evidence), why)]


def _blur(features: ImageFeatures, *, coded: bool) -> list[Sign]:
    """Motion blur, round blur, or what a wavelet coder leaves; after a JPEG coder only round blur can be told."""
    veiled = is_veiled(features)
    if features.edge_tiles == 0:
        why = "no edge is left in an image with content; fog and pools of soft light look the same"
        return [Sign("gaussian blur", VEIL_CONFIDENCE, why)] if veiled else []
    spread = features.edge_sigma_weak / max(features.edge_sigma_strong, 0.1)
    moved = features.motion_anisotropy > DIRECTED and features.edge_sigma_strong > MOTION_STRONG
    if moved and not coded and (spread < WIPED or features.motion_anisotropy > STRAIGHT):
        confidence = 0.45 + 0.5 * (features.motion_anisotropy - DIRECTED)
        if features.edge_sigma > MOTION_EDGE:
            confidence -= 0.35 * (features.edge_sigma - MOTION_EDGE)
        if confidence > 0.4:
            return [Sign("motion blur", min(0.9, confidence), f"along {features.motion_direction:.0f} degrees")]
    if features.fine_detail_gap < NO_FINE_DETAIL:
        return []
    blurred = features.edge_sigma > NO_SHARP_TILE and features.edge_sigma_strong > BLURRED
    confidence = 0.4 + 0.4 * (features.edge_sigma_strong - BLURRED) + 0.6 * (WIPED - spread)
    why = f"no tile is sharp, and {features.fine_detail_gap:.0%} of the textured area has lost its finest detail"
    if spread > WIPED and not veiled:
        sharp = features.edge_sigma < NO_SHARP_TILE or features.edge_sigma_typical < 0.6
        if coded or sharp or spread > SHARP_SUBJECT or features.jpeg_evidence >= JPEG_EVIDENCE:
            return []
        # Sharp edges beside wide weak ones are left by a background out of focus and by a blurred half as well.
        most = 0.75 if features.edge_sigma_strong > ALL_WIDE and features.fine_detail_gap > 0.8 else GUESSED
        coder = min(most, 0.45 + 0.5 * (spread - WIPED))
        wiped = f"weak edges are {spread:.2f} times as wide as strong ones, as a wavelet coder leaves them"
        found = [Sign("gaussian blur", min(GUESSED, max(0.35, confidence)), why)] if blurred else []
        # Blur is the commoner of the two.
        return found if blurred and confidence + 0.1 > coder else [Sign("jpeg2000", coder, wiped), *found]
    return [Sign("gaussian blur", min(0.95, confidence), why)] if blurred else []


def _blur_in_noise(features: ImageFeatures, noise: list[Sign]) -> list[Sign]:
    if not noise or not features.edge_sigma_half > BLURRED_IN_NOISE:
        return []
    confidence = min(0.9, 0.5 + features.edge_sigma_half - BLURRED_IN_NOISE)
    return [Sign("gaussian blur", confidence, "edges are wide also at half the size, where the noise hardly reaches")]


def _sharpened(features: ImageFeatures) -> list[Sign]:
    if not features.edge_ratio > SHARPENED:
        return []
    # The strokes of a page and of a screen are as steep; these are grey, or leave levels out.
    drawn = features.chroma < COLOURLESS or features.level_use < ALL_LEVELS
    confidence = min(GUESSED if drawn else 0.8, 0.5 + 0.4 * (features.edge_ratio - SHARPENED))
    return [Sign("oversharpening", confidence, "a perfect step gives at most 3")]


def _tone(features: ImageFeatures, *, clean: bool) -> list[Sign]:
    """Exposure, contrast and colour: what a scene may bring about as well, so never sure unless extreme."""
    found: list[Sign] = []
    # White paper clips all three channels; too much light clips one or two first where the scene has colour.
    bright = features.mean_luma > 110 and features.bright_point >= 253 and features.clipped_fraction > CLIPPED
    if clean and bright and features.partly_clipped_fraction > 0.04:
        confidence = min(0.8, 0.4 + features.clipped_fraction)
        found.append(
            Sign("overexposure", confidence, "coloured areas are clipped in some channels, unlike white paper")
        )
    if features.dark_point > WHITE_OUT:
        return [Sign("overexposure", 0.8, "nothing but white is left")]
    if features.bright_point < 140 and features.dark_point < 20:
        confidence = min(0.8, 0.45 + 0.006 * (110 - features.bright_point))
        found.append(Sign("underexposure", max(0.35, confidence), "even the highlights are dark"))
    elif features.contrast_range < 100:
        confidence = min(0.85, 0.5 + 0.008 * (80 - features.contrast_range))
        found.append(Sign("low contrast", max(0.35, confidence), "neither dark nor bright parts"))
    if features.cast > TINTED:
        apart = features.cast / max(features.chroma_spread, 1)
        if apart > COMPACT and features.neutral_share < GREYLESS:
            # A red door does the same: below a strong tint it stays a guess.
            confidence = max(0.5, min(0.75, 0.45 + 0.015 * (features.cast - STRONG_TINT)))
            why = f"all colours have moved together, and only {features.neutral_share:.0%} is grey"
        else:
            confidence, why = 0.4, "a scene of strong colours, or coloured light, looks the same"
        found.append(Sign("color cast", confidence, why))
    if 1 <= features.chroma < 3.5:
        found.append(Sign("saturation change", 0.4, "a grey scene looks the same"))
    return found
