"""A server process for tests: runs a `Walk` on files in a folder until it is killed, or until its run has ended."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from hosted_graphs import Desk, Walk, opened

RUN = "killed"
"""The id of the run."""


class NotingDesk(Desk):
    """Notes every beginning of a node in a file, which outlives the process."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def begin(self, node: str) -> None:
        super().begin(node)
        with (self._folder / "begun").open("a", encoding="utf-8") as file:
            file.write(f"{node}\n")


async def main(folder: Path, given: dict[str, Any]) -> None:
    async with opened(folder, Walk(NotingDesk(folder))) as hub:
        record = await hub.record(RUN)
        if record is None:
            await hub.start("walk", given, run_id=RUN)
        elif record.status == "interrupted":
            await hub.resume(RUN)
        seen = 0
        while True:
            events, ended = await hub.follow(RUN, after=seen)
            with (folder / "seen").open("a", encoding="utf-8") as file:
                for event in events:
                    file.write(json.dumps([event.seq, event.name, event.data]) + "\n")
                    seen = event.seq
            if ended:
                break
        await hub.until_ended(RUN, 60)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), json.loads(sys.argv[2])))
