"""Ordinary ways of asking: floors for what each workflow makes of questions that none was written for.

The sets and their ``score.py`` lie beside the project and are never part of it. The floors are what was measured on
2026-11-26, less what another machine and a change of wording may cost; they rise with what the workflows learn.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SETS = DATA / "phrasings"
PROGRAM = Path(sys.executable).with_name("loopwright")
FOSDEM = ("--schedule", str(DATA / "fosdem" / "schedule-2025.xml"), "--stands", str(DATA / "fosdem" / "stands.json"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not SETS.is_dir(), reason="the ways of asking are not here"),
]


def scored(name: str, *words: str) -> dict[str, float]:
    """The figures of a set's last line, by the word before or after each: "ok 23 %" or "44.7 % ok"."""
    command = [sys.executable, str(SETS / name / "score.py"), "--cli", str(PROGRAM), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    last = done.stdout.splitlines()[-1]
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
