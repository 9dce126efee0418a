"""A server that is killed lets go of its run history; what its runs wrote until then: `test_hub_kills`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from loopwright.errors import StoreError
from loopwright.runs.store import open_runs


def test_the_claim_of_a_killed_server_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    claims = "import sys\nfrom loopwright.runs.store import open_runs\nstore = open_runs(sys.argv[1])\nstore.claim()\n"
    code = f"{claims}print('claimed', flush=True)\nsys.stdin.read()"
    store = open_runs(f"sqlite:{path}")
    with subprocess.Popen(
        [sys.executable, "-c", code, f"sqlite:{path}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claimed\n"
        with pytest.raises(StoreError, match="in use by another server"):
            store.claim()
        process.kill()
    store.claim()
    store.close()
