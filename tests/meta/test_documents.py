"""README.md and docs/ can be followed: every code block is run as it stands, and what it prints is what is shown."""

import re
from pathlib import Path
from typing import Any

import pytest
from document_blocks import Block, Reader, blocks, place

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("cli.md", "requirements.md")
DOCUMENTS = [
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").glob("**/*.md") if path.name not in GENERATED),
]
FOLLOWED = [path for path in DOCUMENTS if blocks(path)]
MOST_NOT_RUN = 20
"""Blocks that no test runs."""
REASONS = (
    "asks a provider", "many machines", "minutes", "needs a network", "sets up an environment", "shape", "other program",
)  # fmt: skip


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def followed(path: Path) -> Any:
    """Of the documents that run commands, every run follows the first one alone."""
    slow = path.parent != ROOT and any(block.language == "console" and not block.skip for block in blocks(path))
    return pytest.param(path, id=named(path), marks=pytest.mark.slow if slow else ())


@pytest.mark.timeout(600)
@pytest.mark.parametrize("document", [*map(followed, FOLLOWED)])
def test_a_document_can_be_followed(document, tmp_path):
    wrong: list[str] = []

    def note(block: Block, shown: str, printed: str) -> None:
        wrong.append(f"{place(block)} shows\n{shown}but this was printed:\n{printed}")

    Reader(tmp_path, note, here=document.name == "README.md").follow(document)
    assert not wrong, "\n".join(wrong)


def test_few_blocks_are_not_run_and_each_says_why():
    left_out = [block for path in FOLLOWED for block in blocks(path) if "skip" in block.options]
    assert {block.options["skip"] for block in left_out} <= set(REASONS)
    assert len(left_out) <= MOST_NOT_RUN


def test_every_fence_is_understood():
    for path in DOCUMENTS:
        fences = len(re.findall(r"^ *```", path.read_text(encoding="utf-8"), re.MULTILINE))
        assert fences == 2 * len(blocks(path)), path
