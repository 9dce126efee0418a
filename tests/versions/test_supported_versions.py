"""What is promised about LangGraph's versions, and that this run keeps to it."""

import re
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")[:3]))


def supported() -> list[str]:
    (listed,) = re.findall(r"^supported=\(([\d. ]+)\)$", (ROOT / "scripts/test_versions.sh").read_text(), re.MULTILINE)
    return listed.split()


def test_the_oldest_version_tested_is_the_one_that_is_promised():
    (promised,) = re.findall(r'^  "langgraph>=([\d.]+),', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert supported()[0] == promised


def test_the_newest_version_tested_is_the_one_that_is_pinned():
    (pinned,) = re.findall(r"^langgraph==([\d.]+)$", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert supported()[-1] == pinned


def test_three_versions_are_tested_from_old_to_new():
    assert len(set(supported())) == 3
    assert supported() == sorted(supported(), key=numbers)


def test_this_run_has_a_supported_version():
    oldest, *_others, newest = supported()
    assert numbers(oldest) <= numbers(version("langgraph")) <= numbers(newest)
