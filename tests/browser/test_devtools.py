"""The page in a real browser against a real server: each test of ``devtools/tests/browser`` by its name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "devtools/tests/browser"
TITLE = re.compile(r"""^\s*(describe|it)\((['"`])(.+?)\2,""", re.MULTILINE)
EVERY_RUN = {"figures", "frame", "people", "run_page", "workflow_page"}
"""The files of every run: the frame, a run as it goes on and its figures, a form with its answer, a question to people. ``./test --all`` runs all."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class BrowserTest:
    """A test of the page."""

    file: str
    name: str


def declared() -> list[BrowserTest]:
    """The tests as the files declare them, so that each has a name here before any has run."""
    found: list[BrowserTest] = []
    for path in sorted(FOLDER.glob("*.test.ts")):
        group = ""
        for kind, _quote, title in TITLE.findall(path.read_text(encoding="utf-8")):
            if kind == "describe":
                group = title
            else:
                found.append(BrowserTest(path.name, f"{group} {title}".strip()))
    return found


@cache
def prepared() -> tuple[str, str] | str:
    """The folder of Node and the browser; or why there is no testing."""
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if browser is None:
        return "there is no chromium"
    built = subprocess.run([ROOT / "scripts/build_devtools"], capture_output=True, text=True, check=False)
    node = subprocess.run([ROOT / "scripts/build_devtools", "--node"], capture_output=True, text=True, check=False)
    if node.returncode:
        return node.stderr.strip()
    # With a Node, a page that cannot be built is a failure and nothing to skip.
    assert built.returncode == 0, built.stderr
    return node.stdout.strip(), browser


@cache
def outcomes(file: str) -> dict[str, str | None] | str:
    """Name of each test of a file -> why it failed, or None; or the whole output where no test ran."""
    ready = prepared()
    assert not isinstance(ready, str)
    node, browser = ready
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            f"{node}/node",
            "node_modules/vitest/vitest.mjs",
            "run",
            "--config",
            "vitest.browser.config.ts",
            f"tests/browser/{file}",
        ]
        ran = subprocess.run(
            [*command, "--reporter=json", f"--outputFile={report}"],
            cwd=ROOT / "devtools", capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
            env={
                **os.environ, "PATH": f"{node}{os.pathsep}{os.environ['PATH']}", "LOOPWRIGHT_PYTHON": sys.executable,
                "LOOPWRIGHT_CHROMIUM": browser,
            },
        )  # fmt: skip
        if not report.exists():
            return ran.stdout + ran.stderr
        results = json.loads(report.read_text(encoding="utf-8"))["testResults"]
    tests = {
        test["fullName"].strip(): None
        if test["status"] == "passed"
        else "\n".join(test["failureMessages"]) or test["status"]
        for result in results
        for test in result["assertionResults"]
    }
    # A file whose preparation fails has skipped tests, and its reason stands beside them.
    message = "\n".join(filter(None, (result.get("message") for result in results)))
    return {name: f"{failure}\n{message}" if failure else None for name, failure in tests.items()} or message


def parameters() -> Iterator[Any]:
    for test in declared():
        file = test.file.partition(".")[0]
        yield pytest.param(test, id=f"{file}: {test.name}", marks=[] if file in EVERY_RUN else [pytest.mark.slow])


@pytest.mark.timeout(900)
@pytest.mark.parametrize("test", [*parameters()])
def test_page(test: BrowserTest) -> None:
    ready = prepared()
    if isinstance(ready, str):
        pytest.skip(ready)
    found = outcomes(test.file)
    assert not isinstance(found, str), found
    assert test.name in found, f"{test.file} ran no such test; it ran {', '.join(found)}"
    failure = found[test.name]
    assert failure is None, failure
