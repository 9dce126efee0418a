"""``loopwright serve`` as a process of its own, and a client of it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

PROGRAM = (Path(sys.executable).with_name("loopwright"),)
"""The installed program."""


@contextmanager
def serving(
    program: Sequence[str | Path], folder: Path, *words: object, without: Sequence[str] = ("LOOPWRIGHT_TOKEN",)
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Serve on a free port until left; the variables of `without` are not in its environment."""
    command = [*program, "serve", *map(str, words), "--port", "0"]
    environment = {key: value for key, value in os.environ.items() if key not in without}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment)
    assert process.stderr is not None
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("listening on "):
                break
        else:
            raise AssertionError("".join(said))
        address = said[-1].removeprefix("listening on ").partition(";")[0]
        with httpx.Client(base_url=address, timeout=120, trust_env=False) as client:
            yield process, client
    finally:
        process.kill()
        process.communicate()
