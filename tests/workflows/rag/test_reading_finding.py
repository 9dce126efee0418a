"""Finding files, and files that are none."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from loopwright.errors import DocumentError
from loopwright.workflows.rag.sources.reading import find_sources, read_source


def test_a_folder_is_walked_in_order(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    root = tmp_path / "root"
    outside = tmp_path / "outside"
    for name in (
        "b.md",
        "a/z.TXT",
        "a/b/c.pdf",
        "a.txt",
        ".hidden.md",
        ".git/x.md",
        "image.png",
        "noextension",
        "ไทย.md",
    ):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (root / "link.md").symlink_to(outside / "secret.md")
    (root / "linked").symlink_to(outside)
    (root / "a" / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.txt")
    with caplog.at_level(logging.INFO):
        found = [path.relative_to(root.resolve()).as_posix() for path in find_sources(root)]
    assert found == ["a/b/c.pdf", "a/z.TXT", "a.txt", "b.md", "ไทย.md"]
    skipped = {
        record.getMessage().removeprefix(f"skipped {root.resolve()}/"): record.levelname for record in caplog.records
    }
    assert skipped == dict.fromkeys(
        [
            ".git: hidden",
            ".hidden.md: hidden",
            "a/loop: a link",
            "image.png: unknown extension",
            "link.md: a link",
            "linked: a link",
            "noextension: unknown extension",
            "pipe.txt: not a regular file",
        ],
        "INFO",
    )


def test_one_file_is_itself_whatever_its_name(tmp_path: Path):
    path = tmp_path / ".odd.name"
    path.write_text("x")
    assert list(find_sources(path)) == [path.resolve()]
    with pytest.raises(DocumentError, match="no known kind"):
        list(read_source(path))
