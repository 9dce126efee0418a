"""The metrics of pyiqa as quality tools, where it is installed (extra ``iqa-deep``) and one is named as ``pyiqa:NAME``.

Nothing here runs unless somebody names one of its metrics: none is chosen, stands in for a failed tool, or is imported
otherwise. pyiqa and the weights of many of its metrics are for non-commercial use only.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TextIO, cast

import numpy as np

from loopwright.errors import ConfigError, ImageError, LoopwrightError, UnknownNameError, WeightsError
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.tools.full_reference import Pair
from loopwright.workflows.iqa.tools.tool import Tool

PREFIX = "pyiqa:"
"""Begins the name of every metric of pyiqa, so that none is taken for an embedded tool."""

HINT = (
    "pyiqa's metrics, such as pyiqa:lpips, pyiqa:dists and pyiqa:musiq, are tools as well once it is installed: "
    "pip install 'loopwright[iqa-deep]' (licence: PolyForm Noncommercial 1.0.0)."
)
"""What to do about a name that nobody knows."""

SEED = 123
"""What the generators begin each run with, as some metrics look at parts of the image drawn at random; pyiqa's own."""

_lock = threading.RLock()
"""Held while a metric is made or runs: PyTorch's and NumPy's generators belong to the whole process."""


@functools.cache
def deep_tool(name: str) -> Tool:
    """The tool of a metric of pyiqa.

    Args:
        name: ``pyiqa:NAME``, in any case.

    Raises:
        UnknownNameError: If pyiqa is not installed or has no such metric.
        ConfigError: If pyiqa cannot be imported.
    """
    wanted = name.strip().lower().removeprefix(PREFIX)
    if find_spec("pyiqa") is None:
        raise UnknownNameError("tool", name, (), hint=HINT)
    known: dict[str, Any] = _imported("pyiqa.default_model_configs").DEFAULT_CONFIGS
    if wanted not in known:
        raise UnknownNameError("metric of pyiqa", wanted, known)
    return Tool(
        name=PREFIX + wanted,
        reference=ReferenceMode.FULL if known[wanted]["metric_mode"] == "FR" else ReferenceMode.NONE,
        higher_is_better=not known[wanted].get("lower_better", False),
        strengths=frozenset(),
        cost_ms=math.inf,
        compute=functools.partial(_value, wanted),
        source="pyiqa, PolyForm Noncommercial 1.0.0; see each metric's own terms",
    )


def _value(name: str, pixels: Any) -> float:
    """What a metric gives for a `Pair` or a uint8 RGB array."""
    images = (pixels.image, pixels.reference) if isinstance(pixels, Pair) else (pixels,)
    with _lock, _quiet_output():
        metric = _made(name)
        torch = _imported("torch")
        # A copy, since the tensor shares the memory and nobody may write into the image.
        tensors = [torch.from_numpy(np.array(rgb)).permute(2, 0, 1)[None].to(torch.float32) / 255 for rgb in images]
        before: Any = np.random.get_state()
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(SEED)
                np.random.seed(SEED)
                number = float(metric(*tensors))
        # A metric refuses an image in any way that it likes, most often by an AssertionError or a RuntimeError.
        except Exception as error:
            height, width = images[0].shape[:2]
            raise ImageError(
                f"{PREFIX}{name} cannot measure an image of {width} x {height} pixels ({_told(error)}); "
                "give one of another size, or name another tool"
            ) from error
        finally:
            np.random.set_state(before)
    if not math.isfinite(number):
        raise ImageError(f"{PREFIX}{name} gave no number ({number}) for this image; name another tool")
    return number


@functools.cache
def _made(name: str) -> Callable[..., Any]:
    """The metric, once per process, on one thread; pyiqa fetches its weights at the first use ever."""
    torch, pyiqa = _imported("torch"), _imported("pyiqa")
    torch.set_num_threads(1)
    try:
        return pyiqa.create_metric(name, device=torch.device("cpu"))
    except Exception as error:
        raise WeightsError(
            f"pyiqa cannot make its metric {name} ({_told(error)}). It fetches weights at the first use into the "
            "caches of PyTorch and Hugging Face (TORCH_HOME, HF_HOME): connect this machine once, or name a metric "
            "without weights, such as pyiqa:ssim"
        ) from error


def _imported(module: str) -> Any:
    try:
        with _quiet_output():
            return importlib.import_module(module)
    except LoopwrightError:
        raise
    # A torchvision of another build than PyTorch's raises a RuntimeError.
    except Exception as error:
        raise ConfigError(
            f"pyiqa is installed but cannot be imported ({_told(error)}); torch and torchvision must be of one build"
        ) from error


class _OthersOutput:
    """Standard output for every thread but the one that made it, whose words go to standard error.

    A command may print JSON there, while a metric that was given up is still loading.
    """

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        return (sys.stderr if threading.get_ident() == self._thread else self._output).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)


def _quiet_output() -> contextlib.AbstractContextManager[Any]:
    """Keep what pyiqa prints in this thread, such as what it downloads, out of standard output."""
    return contextlib.redirect_stdout(cast("TextIO", _OthersOutput(sys.stdout)))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
