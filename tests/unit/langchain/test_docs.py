"""The program of docs/langchain.md runs as it stands; what needs a package that is not installed is left out."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "langchain.md"

OPTIONAL = ("deepagents", "langgraph_supervisor")


def test_every_block_runs():
    blocks = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    names = {"__name__": "document"}
    ran = 0
    for number, block in enumerate(blocks):
        needed = [package for package in OPTIONAL if f"from {package} import" in block]
        if all(importlib.util.find_spec(package) for package in needed):
            exec(compile(block, f"langchain.md, block {number}", "exec"), names)
            ran += 1
    assert ran >= len(blocks) - len(OPTIONAL)
    assert len(blocks) >= 9
