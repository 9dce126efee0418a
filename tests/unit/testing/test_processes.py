"""A function runs in a process of its own; how that ended, what it returned and what it raised come back."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from loopwright.errors import ConfigError
from loopwright.testing import run_in_process


def large(size: int) -> bytes:
    return b"x" * size


def fail() -> None:
    raise ValueError("told to fail")


def leave() -> None:
    sys.exit(3)


def hang() -> None:
    signal.pause()


def identify() -> int:
    return os.getpid()


def test_a_function_runs_in_another_process_and_returns():
    assert run_in_process(identify).require() != os.getpid()
    assert len(run_in_process(large, size=5_000_000).require()) == 5_000_000


def test_what_a_function_raises_is_told():
    failed = run_in_process(fail)
    assert (failed.exit_code, failed.killed) == (1, False)
    assert "ValueError: told to fail" in failed.error
    with pytest.raises(AssertionError, match="told to fail"):
        failed.require()
    assert run_in_process(leave).exit_code == 3


def test_a_function_that_does_not_end_is_killed():
    with pytest.raises(TimeoutError, match="hang did not end within 3 s"):
        run_in_process(hang, timeout=3)


def test_a_function_that_another_process_cannot_find_is_refused():
    with pytest.raises(ConfigError, match="top level of a module"):
        run_in_process(lambda: 1)


def modules() -> set[str]:
    return {name.partition(".")[0] for name in sys.modules}


def test_the_package_alone_imports_neither_langgraph_nor_langchain():
    assert not {"langgraph", "langchain_core", "pydantic"} & run_in_process(modules).require()
