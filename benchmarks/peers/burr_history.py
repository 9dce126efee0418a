"""Burr's tracker keeps runs of three steps, and its server lists them: the figures as JSON."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from burr.core import ApplicationBuilder, State, action, expr
from burr.tracking import LocalTrackingClient

PROJECT = "runs"
PATIENCE = 60.0
"""Seconds that the server has to start."""


@action(reads=["n"], writes=["n"])
def tick(state: State) -> State:
    """A step that is kept."""
    return state.update(n=state["n"] + 1)


@action(reads=["n"], writes=[])
def done(state: State) -> State:
    """Where the run ends."""
    return state


def keep(folder: str, number: int) -> None:
    """Run three steps, and have them kept."""
    application = (
        ApplicationBuilder()
        .with_actions(tick, done)
        .with_transitions(("tick", "tick", expr("n < 2")), ("tick", "done"))
        .with_state(n=0)
        .with_entrypoint("tick")
        .with_tracker(LocalTrackingClient(project=PROJECT, storage_dir=folder))
        .with_identifiers(app_id=f"run-{number}")
        .build()
    )
    application.run(halt_after=["done"])


def listed(folder: str, count: int) -> list[float]:
    """Milliseconds of requests for the first fifty runs, one after the other."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "burr.tracking.server.run:app", "--port", str(port)]
    server = subprocess.Popen(
        [*command, "--log-level", "error"], env={**os.environ, "burr_path": folder}, stdout=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}/api/v0/{PROJECT}/__none__/apps?limit=50&offset=0"
    try:
        begun = time.monotonic()
        while True:
            try:
                asked(url)
                break
            except urllib.error.URLError:
                if server.poll() is not None or time.monotonic() - begun > PATIENCE:
                    raise
                time.sleep(0.2)
        return [asked(url) for _ in range(count)]
    finally:
        server.kill()
        server.wait()


def asked(url: str) -> float:
    """Milliseconds of one request, which must bring fifty runs."""
    began = time.perf_counter()
    with urllib.request.urlopen(url, timeout=PATIENCE) as reply:
        found = json.load(reply)
    took = (time.perf_counter() - began) * 1000
    assert len(found["applications"]) == 50, found
    return took


def main() -> None:
    """Keep the runs, list them, and tell."""
    folder, runs, requests = str(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    began = time.perf_counter()
    for number in range(runs):
        keep(folder, number)
    took = time.perf_counter() - began
    print(json.dumps({"seconds": took, "list": listed(folder, requests)}))


if __name__ == "__main__":
    main()
