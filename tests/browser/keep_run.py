"""A run for the tests of the page: ``keep_run.py DATA RUN`` prints a kept one, ``keep_run.py DATA`` keeps what it reads."""

import json
import sys
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from recorded_runs import RecordedRun

from loopwright.runs.store import open_runs

if __name__ == "__main__":
    with closing(open_runs(f"sqlite:{sys.argv[1]}/runs.db")) as store:
        if len(sys.argv) > 2:
            print(json.dumps(RecordedRun.of(store, sys.argv[2]).model_dump(mode="json")))
        else:
            RecordedRun.model_validate_json(sys.stdin.buffer.read()).keep(store)
