"""The page in a real browser against a real server: each test of ``devtools/tests/browser`` by its name."""

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
TITLE = re.compile(r"""^( *)(describe|it)\((['"`])(.+?)\3,""", re.MULTILINE)
EVERY_RUN = {
    "lights up its nodes and fills its loop",
    "shows the question and what belongs to it, is answered by a button and by a form, and says how long it waited",
    "is acknowledged, thought over, answered as a stream, and its sources open as cards",
    "takes a picture from the disk, shows it, and the run measures it",
}
"""The tests of every run: one of each kind. ``./test --all`` runs all of them."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class BrowserTest:
    """A test of the page."""

    file: str
    group: str
    title: str

    @property
    def name(self) -> str:
        """Its name in a report."""
        return f"{self.group} {self.title}".strip()


def declared() -> list[BrowserTest]:
    """The tests as the files declare them, so that each has a name here before any has run."""
    found: list[BrowserTest] = []
    for path in sorted(FOLDER.glob("*.test.ts")):
        group = ""
        for indent, kind, _quote, title in TITLE.findall(path.read_text(encoding="utf-8")):
            if kind == "describe":
                group = title
            else:
                found.append(BrowserTest(path.name, group if indent else "", title))
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
def outcomes(tests: frozenset[BrowserTest]) -> dict[str, str | None] | str:
    """Name of each test that ran -> why it failed, or None; or the whole output where no test ran."""
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
            *sorted({f"tests/browser/{test.file}" for test in tests}),
            "--testNamePattern",
            "|".join(f"^{re.escape(test.name)}$" for test in tests),
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
        if test["status"] != "skipped" or result.get("message")
    }
    # A file whose preparation fails has skipped tests, and its reason stands beside them.
    message = "\n".join(filter(None, (result.get("message") for result in results)))
    return {name: f"{failure}\n{message}" if failure else None for name, failure in tests.items()} or message


def parameters() -> Iterator[Any]:
    for test in declared():
        marks = [] if test.title in EVERY_RUN else [pytest.mark.slow]
        yield pytest.param(test, id=f"{test.file.partition('.')[0]}: {test.name}", marks=marks)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("test", [*parameters()])
def test_page(test: BrowserTest, request: pytest.FixtureRequest) -> None:
    ready = prepared()
    if isinstance(ready, str):
        pytest.skip(ready)
    # The first of them runs all that this run has chosen.
    chosen = (item for item in request.session.items if isinstance(item, pytest.Function))
    found = outcomes(frozenset(item.callspec.params["test"] for item in chosen if item.function is test_page))
    assert not isinstance(found, str), found
    assert test.name in found, f"{test.file} ran no such test; it ran {', '.join(found)}"
    failure = found[test.name]
    assert failure is None, failure


def test_the_tests_of_every_run_are_there() -> None:
    assert {test.title for test in declared()} >= EVERY_RUN
