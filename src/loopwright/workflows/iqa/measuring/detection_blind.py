"""Signs of distortions in an image by itself, and what else could bring them about."""

from typing import Any, NamedTuple

from loopwright.config import shipped
from loopwright.workflows.iqa.distortions import Distortion, kind_of
from loopwright.workflows.iqa.measuring.features import ImageFeatures
from loopwright.workflows.iqa.measuring.features.model import BLOTCHED, DIRECTED, VISIBLE_NOISE, WHITE
from loopwright.workflows.iqa.measuring.severity import VEILED, Limits, is_veiled
from loopwright.workflows.iqa.schemas import DistortionFinding

SIGNS = Limits("blind")
"""From and up to which numbers a sign counts."""
_UNUSUAL: list[dict[str, Any]] = shipped("loopwright.workflows.iqa", "data/signs.yaml")["unusual"]
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
    if features.pixel_size > SIGNS.repeated:
        return [Sign("pixelation", 0.92, "columns and rows repeat exactly"), *_tone(features, clean=True)]
    if coded := _jpeg(features):
        return [*coded, *_blur(features, coded=True), *_tone(features, clean=True)]
    noise = noise_signs(features)
    # The few colours of a drawing look the same.
    sure = min(_most(features), SIGNS.guessed if features.steepest_slope > SIGNS.strokes else 0.9)
    # Grain of few photons, and what is dithered, have few levels as well, but are as strong as the step between two.
    grain = noise and features.grain.sigma * features.level_use > SIGNS.of_a_step
    few = features.level_use < SIGNS.few_levels and not grain
    banded = [Sign("banding", sure, "the levels between are empty")] if few else []
    found = banded or _specks(features) or [*noise, *_blur_in_noise(features, noise)]
    if not found:
        found = [*_blur(features, coded=False), *_sharpened(features)]
    return [*found, *_tone(features, clean=not found)]


def _most(features: ImageFeatures) -> float:
    """How sure a sign can be that the lines, dots and even colours of a drawing leave as well."""
    drawn = features.flat_share > SIGNS.drawn or features.background > SIGNS.background
    return SIGNS.guessed if drawn else 1.0


class Doubt(NamedTuple):
    """What can be neither stated nor ruled out."""

    about: tuple[str, ...]
    """The distortions that it is about, by canonical name."""
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


def doubts(features: ImageFeatures, findings: list[DistortionFinding], *, named: bool = False) -> list[Doubt]:
    """Why no type is stated, where the image is unusual enough to wonder; none for an image that looks clean.

    Only who has named a cast is told of an image without the grey that would show the colour of its light.
    """
    # A page and a screen are bright or dark by themselves; but what is clipped may have been anything.
    drawn = features.flat_share >= SIGNS.plain and features.clipped_fraction <= SIGNS.clipped
    silent = {"drawn": drawn, "coded": features.jpeg_evidence >= SIGNS.jpeg_evidence, "unnamed": not named}
    reasons = [
        Doubt((finding.type,), f"{finding.type} is only a guess ({finding.confidence:.0%})") for finding in findings
    ]
    for sign in _UNUSUAL:
        value = getattr(features, sign["reads"])
        beyond = value < sign["below"] if "below" in sign else value > sign["above"]
        if beyond and not silent.get(sign.get("unless", "")):
            reasons.append(Doubt((sign["about"],), sign["said"].format(value)))
    return reasons + unmeasured(features, findings)


def _specks(features: ImageFeatures) -> list[Sign]:
    spread = 127 * features.impulse_fraction**0.5
    noise = max([features.grain.sigma, *(cell.sigma for _, cell in features.grained_cells)])
    # Specks that came after a JPEG coder would have wiped its trace, and it would have smeared those from before.
    coded = features.jpeg_evidence >= SIGNS.jpeg_evidence
    if coded or features.impulse_fraction < 0.001 or spread < SIGNS.specks_over_noise * noise:
        return []
    confidence = min(_most(features), 0.95 if features.impulse_fraction > 0.004 else 0.75)
    return [Sign("impulse noise", confidence, "as dense where it is calm")]


def noise_signs(features: ImageFeatures) -> list[Sign]:
    """Noise, by the numbers of the flattest areas."""
    grain = features.grain
    if features.colour_noise > BLOTCHED and grain.whiteness < WHITE:
        confidence = min(0.9, 0.65 + 0.1 * (features.colour_noise - BLOTCHED))
        return [Sign("gaussian noise", confidence, "blotches of colour, also where nothing else is")]
    if grain.sigma < VISIBLE_NOISE:
        return []
    if grain.whiteness < WHITE:
        if grain.likeness > SIGNS.unlike or features.jpeg_evidence >= SIGNS.jpeg_evidence:
            return []
        why = f"different in each channel as noise is (correlation {grain.likeness:.2f})"
        return [Sign("gaussian noise", min(0.9, 0.55 + SIGNS.unlike - grain.likeness), why)]
    confidence = min(0.95, 0.55 + 0.8 * (grain.whiteness - WHITE) + 0.01 * grain.sigma)
    why = f"fine-grained as noise is (whiteness {grain.whiteness:.2f} of 2)"
    return [Sign("gaussian noise", confidence, why)]


def _jpeg(features: ImageFeatures) -> list[Sign]:
    if features.jpeg_evidence < SIGNS.jpeg_evidence or features.jpeg_quality > SIGNS.visible_quality:
        return []
    why = f"{features.jpeg_evidence:.0%} of the inspected DCT coefficients lie on multiples of a step"
    # Whose file says so is sure.
    most = 1.0 if features.jpeg_evidence == 1 else _most(features)
    return [Sign("jpeg", min(most, 0.98, 0.6 + 0.4 * features.jpeg_evidence), why)]


def _blur(features: ImageFeatures, *, coded: bool) -> list[Sign]:
    """Motion blur, round blur, or what a wavelet coder leaves; after a JPEG coder only round blur can be told."""
    veiled = is_veiled(features)
    if features.edge_tiles == 0:
        why = "no edge is left in an image with content; fog and pools of soft light look the same"
        return [Sign("gaussian blur", SIGNS.veil_confidence, why)] if veiled else []
    spread = features.edge_sigma_weak / max(features.edge_sigma_strong, 0.1)
    moved = features.motion_anisotropy > DIRECTED and features.edge_sigma_strong > SIGNS.motion_strong
    # Gradients and the lines of a drawing have one direction by themselves.
    moved = moved and features.tone_variation > VEILED.content and _most(features) == 1
    soft_page = _soft_page(features)
    if moved and not coded and (spread < SIGNS.wiped or features.motion_anisotropy > SIGNS.straight):
        confidence = 0.45 + 0.5 * (features.motion_anisotropy - DIRECTED)
        if features.edge_sigma > SIGNS.motion_edge:
            confidence -= 0.35 * (features.edge_sigma - SIGNS.motion_edge)
        # Lines of text have one direction as well.
        if confidence > (0.6 if soft_page else 0.4):
            return [Sign("motion blur", min(0.9, confidence), f"along {features.motion_direction:.0f} degrees")]
    if features.fine_detail_gap < SIGNS.no_fine_detail:
        # The grain of a page is fine detail that its blur has not taken.
        sure, why = min(0.8, 0.35 + 0.25 * features.edge_sigma_strong), "no edge is sharp, and the fine detail is grain"
        return [Sign("gaussian blur", sure, why)] if soft_page else []
    blurred = features.edge_sigma > SIGNS.no_sharp_tile and features.edge_sigma_strong > SIGNS.blurred
    confidence = 0.4 + 0.4 * (features.edge_sigma_strong - SIGNS.blurred) + 0.6 * (SIGNS.wiped - spread)
    why = f"no tile is sharp, and {features.fine_detail_gap:.0%} of the textured area has lost its finest detail"
    if spread > SIGNS.wiped and not veiled:
        sharp = features.edge_sigma < SIGNS.no_sharp_tile or features.edge_sigma_typical < 0.6
        if coded or sharp or spread > SIGNS.sharp_subject or features.jpeg_evidence >= SIGNS.jpeg_evidence:
            return []
        # Sharp edges beside wide weak ones are left by a background out of focus and by a blurred half as well.
        most = 0.75 if features.edge_sigma_strong > SIGNS.all_wide and features.fine_detail_gap > 0.8 else SIGNS.guessed
        coder = min(most, 0.45 + 0.5 * (spread - SIGNS.wiped))
        wiped = f"weak edges are {spread:.2f} times as wide as strong ones, as a wavelet coder leaves them"
        found = [Sign("gaussian blur", min(SIGNS.guessed, max(0.35, confidence)), why)] if blurred else []
        # Blur is the commoner of the two.
        return found if blurred and confidence + 0.1 > coder else [Sign("jpeg2000", coder, wiped), *found]
    return [Sign("gaussian blur", min(0.95, confidence), why)] if blurred else []


def _soft_page(features: ImageFeatures) -> bool:
    """Whether all edges are wide in a bright grey image, as a blurred page is."""
    bright = features.neutral_share > SIGNS.coloured and features.mean_luma > 110
    return bright and features.edge_sigma > SIGNS.wide_stroke and features.edge_sigma_strong > SIGNS.blurred


def _blur_in_noise(features: ImageFeatures, noise: list[Sign]) -> list[Sign]:
    if not noise or not features.edge_sigma_half > SIGNS.blurred_in_noise:
        return []
    confidence = min(0.9, 0.5 + features.edge_sigma_half - SIGNS.blurred_in_noise)
    return [Sign("gaussian blur", confidence, "edges are wide also at half the size, where the noise hardly reaches")]


def _sharpened(features: ImageFeatures) -> list[Sign]:
    if not features.edge_ratio > SIGNS.sharpened:
        return []
    # The strokes of a page and of a screen are as steep; these are grey, or flat between the strokes.
    drawn = features.chroma < SIGNS.colourless or features.flat_share > SIGNS.plain
    confidence = min(SIGNS.guessed if drawn else 0.8, 0.5 + 0.4 * (features.edge_ratio - SIGNS.sharpened))
    return [Sign("oversharpening", confidence, "a perfect step gives at most 3")]


def _tone(features: ImageFeatures, *, clean: bool) -> list[Sign]:
    """Exposure, contrast and colour: what a scene may bring about as well, so never sure unless extreme."""
    found: list[Sign] = []
    # White paper clips all three channels; too much light clips one or two first where the scene has colour.
    bright = features.mean_luma > 110 and features.bright_point >= 253 and features.clipped_fraction > SIGNS.clipped
    grey = SIGNS.coloured if _most(features) == 1 else SIGNS.screen
    paper = features.neutral_share > grey and features.steepest_slope > SIGNS.left
    coloured = features.partly_clipped_fraction > 0.04 and not paper
    if clean and bright and coloured and features.flat_share < SIGNS.drawn and features.edge_tiles > 0:
        most = SIGNS.guessed if features.flat_share > SIGNS.plain or features.steepest_slope > SIGNS.strokes else 0.8
        why = "coloured areas are clipped in some channels, unlike white paper"
        found.append(Sign("overexposure", min(most, 0.4 + features.clipped_fraction), why))
    if features.dark_point > SIGNS.white_out:
        return [Sign("overexposure", 0.8, "nothing but white is left")] if features.steepest_slope < SIGNS.left else []
    if features.bright_point < 140 and features.dark_point < 20:
        confidence = min(0.8, 0.45 + 0.006 * (110 - features.bright_point))
        found.append(Sign("underexposure", max(0.35, confidence), "even the highlights are dark"))
    elif features.contrast_range < 100:
        # Blur makes thin strokes pale as well.
        pale = 0.15 if _soft_page(features) else 0.0
        confidence = min(0.85, 0.5 + 0.008 * (80 - features.contrast_range) - pale)
        found.append(Sign("low contrast", max(0.35, confidence), "neither dark nor bright parts"))
    if features.cast > SIGNS.tinted:
        compact = features.cast > SIGNS.compact * max(features.chroma_spread, 1)
        if compact and features.neutral_share < SIGNS.greyless:
            # A leaf, a sunset and a stage do the same, however strong the tint: it stays a guess.
            confidence, why = 0.5, f"all colours have moved together, and only {features.neutral_share:.0%} is grey"
        else:
            confidence, why = 0.4, "a scene of strong colours, or coloured light, looks the same"
        found.append(Sign("color cast", confidence, why))
    return found
