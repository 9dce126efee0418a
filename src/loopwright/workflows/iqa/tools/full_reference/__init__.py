"""The quality tools that compare an image with its pristine reference.

Each takes a `Pair`, from which all take the same planes, and gives one number in the tool's own unit and direction.
NumPy and OpenCV only; the maps are float32, the final sums float64. `docs/tools.md` has the values of independent
implementations beside ours.
"""

from loopwright.workflows.iqa.measuring.gradients import gmsd, mdsi
from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.tools.full_reference.fidelity import vif
from loopwright.workflows.iqa.tools.full_reference.saliency import vsi
from loopwright.workflows.iqa.tools.full_reference.structure import PSNR_CAP, ms_ssim, psnr, ssim
from loopwright.workflows.iqa.tools.full_reference.wavelets import haarpsi

__all__ = ["PSNR_CAP", "Pair", "gmsd", "haarpsi", "mdsi", "ms_ssim", "psnr", "ssim", "vif", "vsi"]
