"""The debug log: what every node saw, did and took, in ``graph_debug.log``."""

from __future__ import annotations

import logging
from pathlib import Path

from loopwright.errors import ConfigError

FILE = "graph_debug.log"


def enable_debug_log(folder: Path) -> Path:
    """Write everything that Loopwright logs, down to DEBUG, to ``graph_debug.log``; calling it again changes nothing.

    Args:
        folder: Where the file goes; made if it is missing.

    Returns:
        The file.

    Raises:
        ConfigError: If the folder cannot be written.
    """
    path = (folder / FILE).absolute()
    root = logging.getLogger("loopwright")
    if any(isinstance(handler, logging.FileHandler) and handler.baseFilename == str(path) for handler in root.handlers):
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write the debug log {path}: {error.strerror}; set langgraph.log_dir") from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    # Other handlers keep their own levels; the console's is the command line's business.
    root.setLevel(logging.DEBUG)
    return path
