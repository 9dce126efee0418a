"""A real chat model on this machine, behind an OpenAI-compatible server on loopback.

Needs the package xllamacpp and a model that ``scripts/fetch_test_models --chat`` (or ``--chat-fast``) put into .models/.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from loopwright.models.embedded import KNOWN

ROOT = Path(__file__).resolve().parents[2]
CHAT = "qwen2.5-coder-1.5b-instruct"
FAST = "qwen2.5-coder-0.5b-instruct"

# The server listens as long as the process lives; its address goes to standard output once the model is loaded.
SERVER = """
import json, os, sys, threading
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 1
params.verbosity = -1
server = xllamacpp.Server(params)
print(json.dumps(server.listening_address), flush=True)
sys.stdin.read()
os._exit(0)
"""


def gguf(model: str = CHAT) -> Path:
    """The model's file; skips the test where it, or the runtime, is absent."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: pip install xllamacpp")
    path = ROOT / ".models" / model / KNOWN[model].files[0].name
    if not path.exists():
        flag = "--chat" if model == CHAT else "--chat-fast"
        pytest.skip(f"{model} is not in .models/: run scripts/fetch_test_models {flag}")
    return path


@contextmanager
def local_chat(model: str = CHAT) -> Iterator[str]:
    """Serve a chat model, and give the base URL for an OpenAI client."""
    path = gguf(model)
    # Threads that wait actively would take the cores from each other: 1 token a second instead of 13.
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(path)],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the server did not start, exit code {process.wait()}"
        address = json.loads(line)
        wait_until_it_answers(address)
        yield f"{address}/v1"
    finally:
        process.kill()
        process.communicate()


def wait_until_it_answers(address: str, seconds: float = 120) -> None:
    """Ask for the server's health until it is well."""
    end = time.monotonic() + seconds
    while True:
        try:
            with urlopen(f"{address}/health", timeout=5):
                return
        except URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
