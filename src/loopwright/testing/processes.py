"""Runs a function in a new process, which may be killed: what a test of durability needs."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import multiprocessing
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import Any

from loopwright.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a function in a process of its own ended."""

    exit_code: int
    """The process's exit code; -9 where SIGKILL ended it."""
    value: Any = None
    """What the function returned; None where it did not come to that."""
    error: str | None = None
    """The traceback of what it raised."""

    @property
    def killed(self) -> bool:
        """Whether a signal ended the process."""
        return self.exit_code < 0

    def require(self) -> Any:
        """What the function returned.

        Raises:
            AssertionError: If it raised, or its process was ended.
        """
        how = f"by {signal.Signals(-self.exit_code).name}" if self.killed else f"with exit code {self.exit_code}"
        if self.exit_code != 0:
            raise AssertionError(f"the process was ended {how}\n{self.error or ''}".rstrip())
        return self.value


def run_in_process(function: Callable[..., Any], *args: Any, timeout: float = 60.0, **kwargs: Any) -> ProcessResult:
    """Run a function in a new process, and wait for it.

    The process starts from nothing: it imports the function's module anew and shares no memory with this one.

    Args:
        function: A function at the top level of a module.
        *args: Its arguments; they and what it returns must be picklable.
        timeout: Seconds after which the process is killed.
        **kwargs: More arguments.

    Returns:
        The exit code, and what the function returned or raised.

    Raises:
        ConfigError: If the function is not at the top level of a module.
        TimeoutError: If the process takes longer than the timeout.
    """
    where = (function.__module__, function.__qualname__, inspect.getsourcefile(function))
    if "<locals>" in where[1] or "<lambda>" in where[1]:
        raise ConfigError(f"{where[1]} cannot be found by a new process: define it at the top level of a module")
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(theirs, *where, pickle.dumps((args, kwargs))), daemon=True)
    process.start()
    theirs.close()  # else the pipe would stay open when the process is killed
    try:
        if not ours.poll(timeout):
            raise TimeoutError(f"{where[1]} did not end within {timeout:g} s; its process was killed")
        value, error = _received(ours)
        process.join(timeout)
        if process.exitcode is None:
            raise TimeoutError(f"the process of {where[1]} did not end within {timeout:g} s after it; it was killed")
        return ProcessResult(process.exitcode, value, error)
    finally:
        process.kill()
        process.join()
        ours.close()


def _received(connection: Connection) -> tuple[Any, str | None]:
    try:
        kind, content = pickle.loads(connection.recv_bytes())
    except EOFError:  # it was ended before it could say anything
        return None, None
    return (content, None) if kind == "value" else (None, content)


def _child(connection: Connection, module: str, name: str, file: str | None, arguments: bytes) -> None:
    try:
        function = attrgetter(name)(_import(module, file))
        args, kwargs = pickle.loads(arguments)
        connection.send_bytes(pickle.dumps(("value", function(*args, **kwargs))))
    except SystemExit:
        raise
    except BaseException:
        connection.send_bytes(pickle.dumps(("error", traceback.format_exc())))
        sys.exit(1)


def _import(module: str, file: str | None) -> Any:
    """Import a module by its name, or from its file: pytest can import test modules that Python would not find."""
    try:
        return importlib.import_module(module)
    except ImportError:
        spec = importlib.util.spec_from_file_location(module, file) if file else None
        if spec is None or spec.loader is None:
            raise
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module] = loaded
    spec.loader.exec_module(loaded)
    return loaded
