"""Loopwright's quality tools, from the pixels of both images on: `python image_quality_ours.py PAIRS.npz`."""

from __future__ import annotations

import sys
from importlib.metadata import version

import cv2
import numpy as np
from serving import Variants, one_thread, serve

from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.tools.full_reference import similarity_of_structure
from loopwright.workflows.iqa.tools.registry import all_tools

if __name__ == "__main__":
    one_thread()
    cv2.setNumThreads(1)
    held = np.load(sys.argv[1])
    pairs = [(held[f"image_{n}"], held[f"reference_{n}"]) for n in range(sum(n.startswith("image_") for n in held))]
    comparing = [tool for tool in all_tools() if tool.reference is ReferenceMode.FULL]

    def together(n: int) -> float:
        """All comparing tools on one pair."""
        pair = Pair(*pairs[n])
        return sum(tool.compute(pair) for tool in comparing)

    variants: Variants = {tool.name: lambda n, tool=tool: tool.compute(Pair(*pairs[n])) for tool in comparing}
    variants["SSIM, full resolution"] = lambda n: similarity_of_structure(Pair(*pairs[n]).luma)
    variants["all comparing tools together"] = together
    for tool in all_tools():
        if tool.reference is ReferenceMode.NONE:
            variants[tool.name] = lambda n, tool=tool: tool.compute(pairs[n][0])
    versions = {name: version(name) for name in ("loopwright", "numpy", "opencv-python-headless")}
    serve(variants, len(pairs), {"versions": versions}, {})
