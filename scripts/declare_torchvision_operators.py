"""Lets a torchvision that was built for another PyTorch be imported: its compiled operators are declared, not defined.

`scripts/setup_deep.sh` puts this into the environment that it makes, where it is needed. No metric of pyiqa that the
tests run calls one of these operators; whatever does fails with an error that names the operator.
"""

from __future__ import annotations

import sys
from typing import Any

_KEPT: list[Any] = []
"""PyTorch forgets a library with its last reference."""


class DeclaringFinder:
    """Declares the operators just before torchvision is imported, and finds nothing itself."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Look at the name of what is about to be imported."""
        if name != "torchvision":
            return
        sys.meta_path.remove(self)
        import torch

        library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _KEPT.append(library)


sys.meta_path.insert(0, DeclaringFinder())
