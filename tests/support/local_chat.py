"""A real chat model inside the test's process, where ``scripts/fetch_test_models --chat`` has put one into .models/."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from loopwright.models.embedded import KNOWN

CHAT = "qwen2.5-coder-1.5b-instruct"


def local_chat() -> str:
    """The model as a configuration names it; skips the test where it, or the runtime, is absent."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: pip install 'loopwright[local]'")
    path = Path(__file__).resolve().parents[2] / ".models" / CHAT / KNOWN[CHAT].files[0].name
    if not path.exists():
        pytest.skip(f"{CHAT} is not in .models/: run scripts/fetch_test_models --chat")
    return f"local:{path}"
