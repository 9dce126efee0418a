"""What ``./run`` shows: the first thing that a stranger sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "examples/demo.py"


def test_the_bundled_input_is_assessed_and_reported(tmp_path):
    ran = subprocess.run([sys.executable, DEMO], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "loop agent: 5/5 passes, then the fallback answers:" in ran.stdout
    assert ran.stdout.count("P E S") == 8
    assert "report with pictures: results/report.html" in ran.stdout
    assert (tmp_path / "results/report.html").read_text(encoding="utf-8").count("<article") == 8
