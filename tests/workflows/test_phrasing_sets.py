"""Ordinary ways of asking: floors for what each workflow makes of questions that none was written for.

The sets and their ``score.py`` lie beside the project and are never part of it. The floors are what was measured on
2026-11-26, less what another machine and a change of wording may cost; they rise with what the workflows learn.
"""

import re
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib.util import module_from_spec, spec_from_file_location
from io import StringIO
from pathlib import Path
from threading import Lock
from typing import Any
from unittest.mock import patch

import pytest

from loopwright.cli import main

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SETS = DATA / "phrasings"
PROGRAM = str(Path(sys.executable).with_name("loopwright"))
FOSDEM = ("--schedule", str(DATA / "fosdem" / "schedule-2025.xml"), "--stands", str(DATA / "fosdem" / "stands.json"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not SETS.is_dir(), reason="the ways of asking are not here"),
]


class Within:
    """Stands for ``subprocess`` in a score: to start the program anew for each question takes most of an hour."""

    DEVNULL, TimeoutExpired, alone = subprocess.DEVNULL, subprocess.TimeoutExpired, Lock()

    def run(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run the program's command line in this process, and anything else as it is."""
        if PROGRAM not in command or options.get("input"):
            return subprocess.run(command, **options)
        out, err, code = StringIO(), StringIO(), 0
        with self.alone, chdir(options.get("cwd") or "."), redirect_stdout(out), redirect_stderr(err):
            try:
                with patch.object(sys, "argv", command[command.index(PROGRAM) :]):
                    main()
            except SystemExit as end:
                code = int(end.code or 0)
        return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


def scored(name: str, *words: str) -> dict[str, float]:
    """The figures of a set's last line, by the word before or after each: "ok 23 %" or "44.7 % ok"."""
    path, told = str(SETS / name / "score.py"), StringIO()
    source = spec_from_file_location(f"score_{name}", path)
    score = module_from_spec(source)
    source.loader.exec_module(score)
    argv = [path, "--cli", PROGRAM, *words]
    with patch.object(score, "subprocess", Within()), patch.object(sys, "argv", argv), redirect_stdout(told):
        score.main()
    last = told.getvalue().splitlines()[-1]
    before = {word: float(figure) for word, figure in re.findall(r"([a-z_]+) (\d+(?:\.\d+)?) %", last)}
    return before | {word: float(figure) for figure, word in re.findall(r"(\d+(?:\.\d+)?) % ([a-z]+)", last)}


@pytest.mark.parametrize(("name", "supported", "wrong"), [("rag", 76, 4), ("rag-2", 60, 5)])
def test_documents(name: str, supported: float, wrong: float) -> None:
    found = scored(name, "--fast")
    assert found["supported"] >= supported
    assert found["wrong"] <= wrong


def test_a_conference() -> None:
    found = scored("assistant", *FOSDEM)
    assert found["ok"] >= 80
    assert found["embarrassing"] <= 8


@pytest.mark.parametrize(("name", "ok", "embarrassing"), [("iqa", 93, 4), ("iqa-2", 92, 4)])
def test_pictures(name: str, ok: float, embarrassing: float) -> None:
    found = scored(name, "--python", sys.executable)
    assert found["ok"] >= ok
    assert found["embarrassing"] <= embarrassing
