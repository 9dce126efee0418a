"""Quality tools of other packages, one process for all of them.

    python image_quality.py PAIRS.npz

PAIRS.npz holds `image_0`, `reference_0`, ...; all are uint8 H x W x 3 of one size with even sides.

pyiqa's own `__init__` imports every deep network that it has; only the modules of the formulas are loaded here, each
unchanged, and names of torchvision and of the model hub, of which the formulas use nothing, are left empty. The model
files that pyiqa would download are written from the same figures that ship with Loopwright.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import types
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import scipy.io
import torch
from serving import Variants, one_thread, reason, serve

NEVER_USED = (
    "torchvision", "torchvision.models", "torchvision.transforms", "torchvision.transforms.functional",
    "torchvision.utils", "huggingface_hub",
)  # fmt: skip


class _Nothing(type):
    """A class whose every name is such a class, so that others can be derived from it and be called."""

    def __getattr__(cls, name: str) -> type:
        return _nothing(name)


def _nothing(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Nothing(name, (), {"__init__": lambda self, *args, **kwargs: None})


class _Empty(types.ModuleType):
    """A module whose every name is a class of nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> type:
        return _nothing(name)


def leave_empty() -> None:
    """Put empty modules where packages import what their formulas do not use."""
    for name in NEVER_USED:
        sys.modules[name] = _Empty(name)


def architecture(name: str) -> Any:
    """One module of pyiqa, without the packages' own `__init__`."""
    if "pyiqa" not in sys.modules:
        root = Path(find_spec("pyiqa").origin).parent
        for package in ("pyiqa", "pyiqa.archs", "pyiqa.utils"):
            module = types.ModuleType(package)
            module.__path__ = [str(root.joinpath(*package.split(".")[1:]))]
            sys.modules[package] = module
    return importlib.import_module(f"pyiqa.archs.{name}_arch")


class Pairs:
    """The images, also as the tensors that piq and pyiqa take; turning them into these is not measured."""

    def __init__(self, path: str) -> None:
        """Read them."""
        held = np.load(path)
        count = sum(name.startswith("image_") for name in held)
        self.rgb = [(held[f"image_{n}"], held[f"reference_{n}"]) for n in range(count)]
        self.grey = [_grey(both) for both in self.rgb]
        self.colour = [tuple(torch.tensor(a.astype(np.float32)).permute(2, 0, 1)[None] for a in b) for b in self.rgb]
        self.unit = [tuple(each / 255 for each in both) for both in self.colour]
        self.plane = [tuple(torch.tensor(a.astype(np.float32))[None, None] for a in both) for both in self.grey]
        self.niqe = (held["niqe_mean"], held["niqe_covariance"])
        self.brisque = (held["brisque_weights"], held["brisque_vectors"])


def _grey(both: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY) for rgb in both]


def _halved(plane: np.ndarray) -> np.ndarray:
    return plane.reshape(plane.shape[0] // 2, 2, -1, 2).mean((1, 3), dtype=np.float32)


def of_piq(pairs: Pairs) -> Variants:
    """The functions of piq, with its own defaults, on levels of 0 to 255."""
    piq = importlib.import_module("piq")
    levels = {"data_range": 255}
    return {
        "PSNR": lambda n: piq.psnr(*pairs.colour[n], **levels),
        "SSIM": lambda n: piq.ssim(*pairs.plane[n], **levels),
        "SSIM, full resolution": lambda n: piq.ssim(*pairs.plane[n], downsample=False, **levels),
        "MS-SSIM": lambda n: piq.multi_scale_ssim(*pairs.plane[n], **levels),
        "GMSD": lambda n: piq.gmsd(*pairs.plane[n], **levels),
        "MDSI": lambda n: piq.mdsi(*pairs.colour[n], **levels),
        "HaarPSI": lambda n: piq.haarpsi(*pairs.colour[n], **levels),
        "VSI": lambda n: piq.vsi(*pairs.colour[n], **levels),
        "VIFp": lambda n: piq.vif_p(*pairs.plane[n], **levels),
    }


def of_pyiqa(pairs: Pairs) -> Variants:
    """The metrics of pyiqa, with its own defaults except that SSIM averages first; its VIF is that of wavelets."""
    structure = architecture("ssim")
    with tempfile.TemporaryDirectory() as folder:
        niqe_file, brisque_file = os.path.join(folder, "niqe.mat"), os.path.join(folder, "brisque.pth")
        scipy.io.savemat(niqe_file, {"mu_prisparam": pairs.niqe[0], "cov_prisparam": pairs.niqe[1]})
        torch.save(tuple(torch.tensor(each) for each in pairs.brisque), brisque_file)
        alone = {
            "NIQE": architecture("niqe").NIQE(pretrained_model_path=niqe_file),
            "BRISQUE": architecture("brisque").BRISQUE(pretrained_model_path=brisque_file),
        }
    comparing = {
        "PSNR": architecture("psnr").PSNR(),
        "SSIM": structure.SSIM(downsample=True),
        "SSIM, full resolution": structure.SSIM(),
        "MS-SSIM": structure.MS_SSIM(),
        "GMSD": architecture("gmsd").GMSD(),
        "VSI": architecture("vsi").VSI(),
    }
    return {
        **{name: lambda n, metric=metric: metric(*pairs.unit[n]) for name, metric in comparing.items()},
        **{name: lambda n, metric=metric: metric(pairs.unit[n][0]) for name, metric in alone.items()},
    }


def of_scikit_image(pairs: Pairs) -> Variants:
    """The functions of scikit-image with the papers' own window, from the pixels of both images on."""
    metrics = importlib.import_module("skimage.metrics")
    window = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 255}
    return {
        "PSNR": lambda n: metrics.peak_signal_noise_ratio(*pairs.rgb[n], data_range=255),
        "SSIM": lambda n: metrics.structural_similarity(*map(_halved, _grey(pairs.rgb[n])), **window),
        "SSIM, full resolution": lambda n: metrics.structural_similarity(*_grey(pairs.rgb[n]), **window),
    }


def of_fast_ssim(pairs: Pairs) -> Variants:
    """The functions of fast-ssim, from the pixels of both images on; its SSIM has an even window of 7 x 7."""
    package = importlib.import_module("fast_ssim")
    return {
        "PSNR": lambda n: package.psnr(*pairs.rgb[n]),
        "SSIM": lambda n: package.ssim(*_grey(pairs.rgb[n])),
    }


PACKAGES = {
    "pyiqa": of_pyiqa,
    "piq": of_piq,
    "scikit-image": of_scikit_image,
    "fast-ssim": of_fast_ssim,
}


def main() -> None:
    """Load what can be loaded, and answer."""
    one_thread()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    leave_empty()
    pairs = Pairs(sys.argv[1])
    variants: Variants = {}
    missing: dict[str, str] = {}
    for package, made in PACKAGES.items():
        try:
            variants |= {f"{package} {tool}": call for tool, call in made(pairs).items()}
        except Exception as error:
            missing[package] = reason(error)
    versions = {package: version(package) for package in ("torch", *PACKAGES)}
    with torch.inference_mode():
        serve(variants, len(pairs.rgb), {"versions": versions}, missing)


if __name__ == "__main__":
    main()
