"""No test reaches a real model unless it says so, and none leaves its log levels to its neighbours."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import settings

from loopwright.models import allow_model_requests

# No test is timed: a loaded machine is no fault.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def block_model_requests() -> Iterator[None]:
    with allow_model_requests(False):
        yield


@pytest.fixture(autouse=True)
def keep_log_levels() -> Iterator[None]:
    """Puts every log level and handler back: a command run in this process sets them for the whole process."""
    root = logging.getLogger()
    handlers = list(root.handlers)
    levels = {logger: logger.level for logger in _loggers()}
    yield
    root.handlers[:] = handlers
    for logger in _loggers():
        logger.setLevel(levels.get(logger, logging.NOTSET))


def _loggers() -> list[logging.Logger]:
    """The root logger and all of this package's that exist by now."""
    known = [logger for logger in logging.Logger.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    return [logging.getLogger(), *(logger for logger in known if logger.name.split(".")[0] == "loopwright")]
