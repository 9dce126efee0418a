"""What the quality tools and the distortion measurements cost: milliseconds per 512 x 384 image on one thread.

    python benchmarks/iqa_tools.py [--write]

PSNR and SSIM run beside scikit-image's in the same run, on the same pair; the others have no peer without PyTorch here.
"""

from __future__ import annotations

from importlib.metadata import version

import cv2
import numpy as np
from common import Variant, machine, main, measure
from skimage import data
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from loopwright.workflows.iqa.measuring import features
from loopwright.workflows.iqa.tools.full_reference import Pair, gmsd, mdsi, psnr, ssim
from loopwright.workflows.iqa.tools.niqe import niqe

TITLE = "Image-quality tools"
REPETITIONS = 25


def report(repetitions: int = REPETITIONS) -> str:
    """Measure, and show the figures as Markdown."""
    cv2.setNumThreads(1)
    reference = np.ascontiguousarray(cv2.resize(data.coffee(), (512, 384), interpolation=cv2.INTER_AREA))
    image = cv2.GaussianBlur(reference, (0, 0), 2)
    grey = [cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY) for pixels in (image, reference)]
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 255}
    peers = {
        "PSNR": Variant("PSNR, scikit-image", lambda: peak_signal_noise_ratio(reference, image, data_range=255)),
        "SSIM": Variant("SSIM, scikit-image", lambda: structural_similarity(*grey, **options)),
    }
    ours = [
        Variant("PSNR", lambda: psnr(Pair(image, reference))),
        Variant("SSIM", lambda: ssim(Pair(image, reference))),
        Variant("GMSD", lambda: gmsd(Pair(image, reference))),
        Variant("MDSI", lambda: mdsi(Pair(image, reference))),
        Variant("NIQE", lambda: niqe(image)),
        Variant("distortion features, image alone", lambda: features.measure(image)),
        Variant("distortion features, with the reference", lambda: features.measure_pair(image, reference)),
    ]
    measure([*ours, *peers.values()], repetitions)
    rows = ["| | ms, least | median | scikit-image, least | ratio |", "|---|---|---|---|---|"]
    for variant in ours:
        least, median = variant.per()
        peer = peers.get(variant.name)
        beside = f"{peer.per()[0] / 1000:.2f} | {least / peer.per()[0]:.2f}" if peer else "- | -"
        rows.append(f"| {variant.name} | {least / 1000:.2f} | {median / 1000:.2f} | {beside} |")
    about = f"{machine()}, OpenCV {version('opencv-python-headless')}, NumPy {np.__version__}, "
    return "\n".join(
        [*rows, "", f"{about}scikit-image {version('scikit-image')}; process time, {repetitions} in turn."]
    )


if __name__ == "__main__":
    main(TITLE, __doc__, REPETITIONS, report)
