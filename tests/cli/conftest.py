"""The program, called here."""

import subprocess
import sys
from pathlib import Path

import pytest

from loopwright.cli import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def loopwright(monkeypatch, capfd):
    """Run the program's entry point here, which saves the two seconds that importing LangGraph takes."""

    def run(*words: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["loopwright", *map(str, words)])
        monkeypatch.chdir(cwd)
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        shown = capfd.readouterr()
        return subprocess.CompletedProcess(words, code, shown.out, shown.err)

    return run


@pytest.fixture
def refused(loopwright):
    """Run the program on what it cannot take: it says so in one line, which is given back, and nothing else."""

    def run(*words: object, cwd: Path = ROOT) -> str:
        done = loopwright(*words, cwd=cwd)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done
        return done.stderr

    return run
