"""A run for the tests of the page: ``keep_run.py DATA RUN`` prints a kept one, ``keep_run.py DATA`` keeps what it reads."""

from __future__ import annotations

import json
import sys
from contextlib import closing

from loopwright.runs.demonstrations import RecordedRun, keep_recorded, recorded_run
from loopwright.runs.store import open_runs

if __name__ == "__main__":
    with closing(open_runs(f"sqlite:{sys.argv[1]}/runs.db")) as store:
        if len(sys.argv) > 2:
            print(json.dumps(recorded_run(store, sys.argv[2]).model_dump(mode="json")))
        else:
            keep_recorded(store, RecordedRun.model_validate_json(sys.stdin.buffer.read()))
