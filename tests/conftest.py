"""No test reaches a real model unless it says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loopwright.models import allow_model_requests


@pytest.fixture(autouse=True)
def block_model_requests() -> Iterator[None]:
    with allow_model_requests(False):
        yield
