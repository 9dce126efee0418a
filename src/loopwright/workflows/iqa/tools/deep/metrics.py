"""Making and running a metric of pyiqa: once made per process, one at a time, on one thread, always with one seed."""

from __future__ import annotations

import contextlib
import importlib
import math
import sys
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TextIO, cast

import numpy as np

from loopwright.errors import ConfigError, ImageError, InputError, LoopwrightError, WeightsError
from loopwright.workflows.iqa.tools.deep.catalogue import PREFIX
from loopwright.workflows.iqa.tools.full_reference import Pair

SEED = 123
"""What the generators begin each run with, as some metrics look at parts of the image drawn at random; pyiqa's own."""

RETRY_S = 300.0
"""Seconds after which a metric that could not be made is tried again: without network each try can take a minute."""

_lock = threading.RLock()
"""Held while a metric is made or runs: PyTorch's and NumPy's generators belong to the whole process."""

_made: dict[str, Any] = {}
"""Name -> the metric of this process."""

_failed: dict[str, tuple[float, LoopwrightError]] = {}
"""Name -> when it could not be made, and why."""


@dataclass(frozen=True, slots=True)
class Metric:
    """The function of a tool: a metric of pyiqa that is made at its first use."""

    name: str
    """Its name in pyiqa."""

    def prepare(self) -> None:
        """Import pyiqa and make the metric, if this process has not yet; its weights are fetched at the first use ever.

        Raises:
            ConfigError: If pyiqa or what it needs cannot be imported.
            WeightsError: If its weights cannot be fetched or loaded.
        """
        with _lock:
            if self.name in _made:
                return
            when, error = _failed.get(self.name, (-math.inf, None))
            if error is not None and time.monotonic() - when < RETRY_S:
                raise error
            try:
                _made[self.name] = _make(self.name)
            except LoopwrightError as failure:
                _failed[self.name] = (time.monotonic(), failure)
                raise

    def __call__(self, pixels: Any) -> float:
        """The metric's value.

        Args:
            pixels: A `Pair`, or for a metric without a reference a uint8 RGB array, H x W x 3.

        Raises:
            ConfigError: If pyiqa or what it needs cannot be imported.
            WeightsError: If its weights cannot be fetched or loaded.
            ImageError: If it cannot measure these images.
            InputError: If it gives no single number.
        """
        images = (pixels.image, pixels.reference) if isinstance(pixels, Pair) else (pixels,)
        with _lock:
            self.prepare()
            try:
                value = _seeded(_made[self.name], images)
            # A metric refuses an image in any way that it likes, most often by an AssertionError or a RuntimeError.
            except Exception as error:
                height, width = images[0].shape[:2]
                raise ImageError(
                    f"{PREFIX}{self.name} cannot measure an image of {width} x {height} pixels ({_told(error)}); "
                    "give one of another size, or name another tool"
                ) from error
        return self._number(value)

    def _number(self, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"{PREFIX}{self.name} gives no single number; name another tool") from error
        if not math.isfinite(number):
            raise ImageError(f"{PREFIX}{self.name} gave no number ({number}) for this image; name another tool")
        return number


def _seeded(metric: Any, images: tuple[Any, ...]) -> Any:
    torch: Any = importlib.import_module("torch")
    # A copy, since the tensor shares the memory and nobody may write into the image.
    tensors = [torch.from_numpy(np.array(rgb)).permute(2, 0, 1)[None].to(torch.float32) / 255 for rgb in images]
    before: Any = np.random.get_state()
    try:
        with torch.random.fork_rng(devices=[]), _quiet_output():
            torch.manual_seed(SEED)
            np.random.seed(SEED)
            return metric(*tensors)
    finally:
        np.random.set_state(before)


def _make(name: str) -> Any:
    with _quiet_output():
        try:
            torch: Any = importlib.import_module("torch")
            pyiqa: Any = importlib.import_module("pyiqa")
        # A torchvision of another build than PyTorch's raises a RuntimeError.
        except Exception as error:
            raise ConfigError(
                f"pyiqa is installed but cannot be imported ({_told(error)}); torch and torchvision must be of one "
                "build, see docs/tools.md"
            ) from error
        torch.set_num_threads(1)
        try:
            return pyiqa.create_metric(name, device=torch.device("cpu"))
        except OSError as error:
            raise WeightsError(
                f"the weights of {PREFIX}{name} cannot be fetched ({_told(error)}). pyiqa fetches them at the first "
                "use into the caches of PyTorch and Hugging Face (TORCH_HOME, HF_HOME): connect this machine once, "
                "copy these folders from one that has them, or name a metric without weights, such as pyiqa:ssim"
            ) from error
        except Exception as error:
            raise WeightsError(f"pyiqa cannot make its metric {name} ({_told(error)}); name another tool") from error


class _OthersOutput:
    """Standard output for every thread but the one that made it, whose words go to standard error."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        return (sys.stderr if threading.get_ident() == self._thread else self._output).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)


def _quiet_output() -> AbstractContextManager[Any]:
    """Keep what pyiqa prints, such as what it downloads, out of standard output, where a command may print JSON.

    Only what this thread prints: one that was given up may still be loading when the command prints its result.
    """
    return contextlib.redirect_stdout(cast("TextIO", _OthersOutput(sys.stdout)))


def _told(error: Exception) -> str:
    text = " ".join(str(error).split())[:160]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
