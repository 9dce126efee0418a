"""The pytest plug-in: ``assert_bounded`` and ``no_model_requests`` in every test.

It imports nothing of LangGraph until one of them is used, so that it does not slow down other tests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from loopwright.engine import Certificate

BLOCK_MODELS = "loopwright_block_models"


@pytest.fixture
def assert_bounded() -> Callable[..., Certificate]:
    """Assert that every cycle of a graph is bounded: `loopwright.testing.assert_bounded`."""
    from loopwright.testing import assert_bounded

    return assert_bounded


@pytest.fixture
def no_model_requests() -> Generator[None]:
    """Block, for this test, every request of a model that a `ModelRegistry` makes."""
    from loopwright.models import allow_model_requests

    with allow_model_requests(False):
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option of the configuration."""
    parser.addini(BLOCK_MODELS, "Block requests of Loopwright's models in every test.", type="bool", default=False)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Block models where the configuration says so."""
    if config.getini(BLOCK_MODELS):
        for item in items:
            names: list[str] = getattr(item, "fixturenames", [])
            if "no_model_requests" not in names:
                names.insert(0, "no_model_requests")
