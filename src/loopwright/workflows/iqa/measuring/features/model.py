"""What is measured about one image, and about an image beside its reference."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Rgb = NDArray[np.uint8]
"""An upright image: uint8, shape (height, width, 3), channels red, green, blue."""
Plane = NDArray[np.float32]
"""One channel or the luma of an image in grey levels 0..255: float32, shape (height, width)."""


VISIBLE_NOISE = 3.0
"""Noise below which nobody sees it, grey levels."""
WHITE = 1.2
"""Noise over noise at half size from which it is noise; texture stays below 1.1, white noise is at 1.4 to 2."""
WHITER = 1.35
"""The same from which a part of an image is noisy: a lawn by itself may have 1.25, no part of 74 photographs more."""
ALIKE, EVEN_GRAIN = 0.85, 0.8
"""Correlation of the channels' grain from which it may be texture, though white: sharp gravel and leaves have 0.92 and
more, noise 0.2 at most unless a coder smeared it; and the evenness below which it is: of 30 sharp cells 24, of 150
noisy ones 14."""
DIRECTED = 0.75
"""Directional loss from which motion is possible, nepers; sharp photographs reach 0.55."""
BLOTCHED = 3.5
"""Colour noise from which there are blotches, grey levels."""


class Grain(NamedTuple):
    """What the flattest areas show of the fine detail."""

    sigma: float
    """Standard deviation of the green channel's noise, grey levels."""
    whiteness: float
    """The same over that after halving the size: 1.6 to 2 for white noise, near or below 1 for texture."""
    likeness: float
    """Correlation of green's detail with red's or blue's, whichever is higher, -1 to 1: near 0 for noise of the single
    channels, 0.4 to 1 for texture and grey noise."""
    evenness: float
    """Most detail of the flattest blocks over that of the middle one, 0..1: about 0.9 for noise, less for texture."""


NO_GRAIN = Grain(0.0, 0.0, 1.0, 0.0)
"""What stands where too few blocks can be measured."""


@dataclass(frozen=True, slots=True)
class ImageFeatures:
    """What one image shows by itself, without a reference.

    A value that cannot be measured (an edge width where there is no edge) is NaN.
    """

    width: int
    """Width of the image, pixels."""
    height: int
    """Height of the image, pixels."""
    edge_sigma: float
    """Blur of the sharpest tiles: standard deviation of the Gaussian that makes a step as wide as edges there, pixels.

    Differences between pixels add a variance of 1/3 to it, here and below."""
    edge_sigma_typical: float
    """The same for the tile in the middle of the order; far above `edge_sigma` where only the subject is in focus,
    pixels."""
    edge_tiles: float
    """Number of tiles of 64 x 64 pixels with enough edges to be measured."""
    edge_sigma_strong: float
    """Median blur of the strongest tenth of the edges, wherever they are, pixels."""
    edge_sigma_weak: float
    """Median blur of the weaker half of the edges; far above `edge_sigma_strong` where a coder wiped weak detail,
    pixels."""
    edge_sigma_half: float
    """`edge_sigma_strong` of the image at half its size, where noise hardly reaches, pixels of that size: 0.5 to 0.8
    for sharp photographs, whatever the noise. NaN without visible noise."""
    edge_ratio: float
    """Median ratio of the gradient after smoothing by 0.5 and by 1.5 pixels; at most 3 for steps, above for sharpened
    edges."""
    motion_anisotropy: float
    """How much the fine detail depends on direction: amplitude of the second angular harmonic of the log spectrum,
    nepers."""
    motion_direction: float
    """Direction in which fine detail is weakest, degrees counter-clockwise from the horizontal, 0..180."""
    motion_length: float
    """Length of a motion in that direction that would make the edges across it as wide as they are, pixels: a lower
    bound, since long motions leave only edges that hardly lie across them. NaN without such edges."""
    grain: Grain
    """What the flattest areas show, specks left out."""
    grain_of_cells: tuple[Grain, ...]
    """The same of each of 4 x 4 cells, row by row."""
    colour_noise: float
    """Blotches of colour in the calmest areas, grey levels."""
    impulse_fraction: float
    """Share of samples that are isolated black or white specks, 0..1; 0 where they are those of texture or strokes."""
    jpeg_quality: float
    """Quality setting of the JPEG coder that the quantised DCT coefficients point to, 1..100; 100 if none is seen."""
    jpeg_evidence: float
    """Share of the inspected DCT coefficients that lie on multiples of one step, 0..1."""
    fine_detail_gap: float
    """Share of the textured area whose finest detail is gone (below half a grey level), 0..1."""
    level_use: float
    """Share of the 8-bit levels that are used between the 1st and the 99th percentile, 0..1, of the image or, if less,
    of a part of it; few levels are banding."""
    flat_share: float
    """Share of the pixels that are as green as those beside and below them, 0..1."""
    background: float
    """Share of the pixels that have the commonest colour exactly, 0..1: above a half in logos, charts and pages."""
    pixel_size: float
    """Mean side of the squares of repeated pixels, pixels; 1 for none."""
    overexposed_fraction: float
    """Share of pixels with luma of at least 250, 0..1."""
    partly_clipped_fraction: float
    """Share of pixels with one or two channels at 254 or above that are no pure colour, 0..1."""
    mean_luma: float
    """Mean luma, grey levels."""
    dark_point: float
    """1st percentile of luma, grey levels."""
    bright_point: float
    """99th percentile of luma, grey levels."""
    tone_variation: float
    """Standard deviation of luma, averaged over a grid of 64 x 64, about the quadratic surface that fits it best, grey
    levels: what is left of the content where a sky or a wall shows only a gradient."""
    steepest_slope: float
    """99.9th percentile of the gradient of luma, grey levels per pixel."""
    cast_a: float
    """Green (-) to red (+) shift that the highlights and the mean share, CIELAB units."""
    cast_b: float
    """Blue (-) to yellow (+) shift that the highlights and the mean share, CIELAB units."""
    chroma: float
    """Mean CIELAB chroma; 0 for a grey image, 10 to 35 for most photographs."""
    chroma_spread: float
    """Standard deviation of a and b together about their mean, CIELAB units: 8 to 25 for most photographs."""
    neutral_share: float
    """Share of the area, black and white left out, that is grey (a chroma below 6), 0..1."""

    @property
    def contrast_range(self) -> float:
        """From the 1st to the 99th percentile of luma, grey levels."""
        return self.bright_point - self.dark_point

    @property
    def edge_blur(self) -> float:
        """Blur of the strongest edges, pixels; where noise would steepen them, as `edge_sigma_half` tells it."""
        if math.isnan(self.edge_sigma_half):
            return self.edge_sigma_strong
        # At half the size, a sharp edge has a variance of a quarter already.
        return 2 * math.sqrt(max(0.0, self.edge_sigma_half**2 - 0.25))

    @property
    def least_blur(self) -> float:
        """Blur that gives a step over the `contrast_range` the `steepest_slope`: standard deviation, pixels."""
        return self.contrast_range / (math.sqrt(2 * math.pi) * max(self.steepest_slope, 0.01))

    @property
    def grained_cells(self) -> list[tuple[int, Grain]]:
        """The cells that have visible, white noise, with their place in the order; none of a texture."""
        cells = enumerate(self.grain_of_cells)
        white = [(i, cell) for i, cell in cells if cell.sigma >= VISIBLE_NOISE and cell.whiteness >= WHITER]
        textures = sum(cell.likeness >= ALIKE and cell.evenness < EVEN_GRAIN for _, cell in white)
        return white if 2 * textures <= len(white) else []

    @property
    def noise_whiteness(self) -> float:
        """Whiteness of the grain of the whole."""
        return self.grain.whiteness

    @property
    def noise(self) -> float:
        """The noise that is seen, grey levels; blotches of colour with what the band of their measure leaves out."""
        return max(self.grain.sigma, 2.5 * self.colour_noise if self.colour_noise > BLOTCHED else 0.0)

    @property
    def directed_motion(self) -> float:
        """`motion_length`, pixels; without a direction, wide edges are those of a round blur or of a soft scene."""
        return self.motion_length if self.motion_anisotropy > DIRECTED else 0.0

    @property
    def clipped_fraction(self) -> float:
        """Share of clipped bright pixels, 0..1."""
        return min(1.0, self.overexposed_fraction + self.partly_clipped_fraction)

    @property
    def cast(self) -> float:
        """Strength of the colour cast, CIELAB units."""
        return math.hypot(self.cast_a, self.cast_b)


@dataclass(frozen=True, slots=True)
class PairFeatures:
    """How an image differs from its reference.

    The difference is split into what a point operation on the reference explains (tone and colour), what a linear
    filter of it explains (blur, sharpening), what a shift of its colour channels explains, and the rest (noise,
    coding). Every part is a root mean square over the three channels in grey levels, so the parts can be compared.
    """

    rms_error: float
    """Root mean square of image minus reference, grey levels; 0 for identical images."""
    point_share: float
    """Share of the squared error that one tone curve per channel or one colour matrix explains, 0..1."""
    mean_luma: float
    """Mean luma of the image, grey levels."""
    mean_shift: float
    """Mean luma of the image minus that of the reference, grey levels."""
    unchanged_share: float
    """Share of the pixels whose luma changed by one grey level at most, 0..1."""
    kept_shapes: float
    """Squared correlation of the two lumas as means over 8 x 8 blocks, without what varies over more than 32 pixels,
    0..1, 1 where the reference is calm: distortions keep where it is lighter and darker, another content does not."""
    contrast_gain: float
    """Slope of the image's luma over the reference's, both as means over 8 x 8 blocks; 1 for no change."""
    contrast_rms: float
    """What that slope changes, grey levels."""
    kept_level: float
    """The grey level that the shift and the slope together leave as it is; NaN if the slope is 1."""
    saturation_ratio: float
    """Slope of the image's colour differences over the reference's, if it explains their change; else 1; 0 for grey."""
    saturation_rms: float
    """What that slope changes, grey levels."""
    color_shift: float
    """Distance between the mean CIELAB a, b of the two images, beyond what the saturation changes, CIELAB units."""
    color_shift_rms: float
    """What the mean shift of the colour differences changes, grey levels."""
    level_use_ratio: float
    """Used 8-bit levels of the image over those of the reference; far below 1 for banding."""
    channel_shift: float
    """Largest displacement of the red or blue channel against green, pixels (chromatic aberration)."""
    channel_shift_rms: float
    """What that displacement explains, grey levels."""
    displaced: float
    """How far the whole image is moved against its reference, pixels; 0 if that does not explain the difference."""
    quarters_moved: float
    """How far at least two of the image's quarters are moved, pixels."""
    uneven_share: float
    """Share of the luma error left by the point operation that light explains which changes smoothly from place to
    place, 0..1."""
    filter_share: float
    """Share of the luma error left by the point operation that a linear filter explains, 0..1."""
    filter_rms: float
    """What the linear filter explains, grey levels."""
    detail_gain: float
    """Gain of the linear filter at 0.15 to 0.4 cycles per pixel; below 1 for blur, above 1 for sharpening."""
    detail_ratio: float
    """Amplitude of the image's own detail there over the reference's, whether or not it is the same detail."""
    blur_sigma: float
    """Standard deviation of the Gaussian with the filter's low-frequency loss, along its longer axis, pixels."""
    blur_sigma_minor: float
    """The same along the shorter axis, pixels."""
    blur_direction: float
    """Direction of the longer axis, degrees counter-clockwise from the horizontal, 0..180."""
    residual_rms: float
    """What neither point operation, channel shift nor filter explains, grey levels."""
    residual_flatness: float
    """Residual energy in the flattest quarter of the reference over its mean: near 1 for noise, far below for
    coding."""
    residual_whiteness: float
    """Fine detail of the residual over its size: 1 for white noise, below 0.35 for what varies smoothly."""
    residual_kurtosis: float
    """Kurtosis of the residual: 3 for Gaussian noise, far above for impulses."""
    residual_luma_slope: float
    """Log-log slope of the residual's size over the reference's luma: 0 for additive, 1 for multiplicative noise."""
    jpeg_quality: float
    """Quality setting of the JPEG coder that the image's DCT coefficients point to, or of a harsher one beneath it,
    1..100; 100 if none is seen."""
    jpeg_evidence: float
    """Share of the inspected DCT coefficients that lie on multiples of one step, 0..1."""
    coder_rms: float
    """What a JPEG coder explains that lies beneath other distortions, grey levels; 0 for none."""
    reference_jpeg_quality: float
    """The reference's own `jpeg_quality`: what was there before does not count as a distortion."""
    impulse_fraction: float
    """Share of samples that became isolated black or white specks, 0..1."""
    impulse_share: float
    """Share of the squared error that these specks hold, 0..1."""
    pixel_size_gain: float
    """Mean side of repeated pixels of the image over that of the reference; 1 for no pixelation."""

    @property
    def motion_length(self) -> float:
        """Length of the motion that blurs as much, pixels: a line of length L has the variance L^2 / 12."""
        return math.sqrt(12) * self.blur_sigma

    @property
    def coder_error(self) -> float:
        """What a coder that filters and quantizes left, grey levels."""
        return math.hypot(self.filter_rms, self.residual_rms)

    @property
    def saturation_change(self) -> float:
        """Size of the change of saturation; 0 for none."""
        return abs(self.saturation_ratio - 1)

    @property
    def brightness_change(self) -> float:
        """Size of the shift of the mean luma, grey levels."""
        return abs(self.mean_shift)
