"""Packages that tests need, looked for without importing them: that takes seconds of every run of any test."""

from importlib.util import find_spec

import pytest


def needs(*packages: str) -> None:
    """Skips the file where a package is not installed."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed", allow_module_level=True)
