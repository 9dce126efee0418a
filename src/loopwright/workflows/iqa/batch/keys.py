"""When two rows are the same row: hashes of content, question and configuration."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import loopwright
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.tools.calibration import calibration_digest

_WITHOUT_EFFECT = {
    "langgraph": {"debug_mode", "save_graph_visualization", "log_dir"},
    "pipeline": {"checkpoint"},
    # What the file holds counts, not where it lies.
    "iqa": {"tools": {"calibration"}},
}
"""What changes no row."""

_PACKAGES = ("numpy", "opencv-python-headless", "pillow")


def configuration_digest(config: IQAConfig) -> str:
    """A hash of the configuration, as far as it can change a row, of the curves' file, and of this package's version.

    Args:
        config: The configuration.

    Raises:
        ConfigError: If the file of curves cannot be read.
    """
    curves = calibration_digest(config.iqa.tools.calibration)
    given = [loopwright.__version__, config.model_dump(mode="json", exclude=_WITHOUT_EFFECT), curves]
    return hashlib.sha256(json.dumps(given, sort_keys=True, default=str).encode()).hexdigest()[:16]


def row_key(sample: Sample, root: Path, configuration: str) -> str:
    """A hash of what the files hold, what is asked about them, and the configuration.

    Args:
        sample: The sample.
        root: What its paths are relative to.
        configuration: What `configuration_digest` gave.
    """
    held = [_content(root / path) if path else None for path in (sample.path, sample.reference_path)]
    given = json.dumps([held, sample.region, sample.query, configuration])
    return hashlib.sha256(given.encode()).hexdigest()[:32]


def stamp(sample: Sample, root: Path) -> str:
    """Size and time of last change of a sample's files: while these stay, the files are not read again.

    Args:
        sample: The sample.
        root: What its paths are relative to.
    """
    parts: list[str] = []
    for path in filter(None, (sample.path, sample.reference_path)):
        # A file that is not there differs from every one that is.
        with suppress(OSError, ValueError):
            status = (root / path).stat()
            parts.append(f"{status.st_size}:{status.st_mtime_ns}")
    return " ".join(parts)


@cache
def versions() -> str:
    """The packages that measured, with their versions."""
    return "; ".join([f"loopwright {loopwright.__version__}", *(f"{name} {version(name)}" for name in _PACKAGES)])


def _content(path: Path) -> str | None:
    """A hash of a file's bytes; None where it cannot be read, which the run itself says why."""
    with suppress(OSError, ValueError):
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return None
