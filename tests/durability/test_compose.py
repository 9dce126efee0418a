"""What compose.yaml starts, as real processes on one PostgreSQL: no container runtime is needed for its steps."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from batch_images import save
from hosts import Hosts, ended, hosts_of_a_test, postgres_server, postgres_url, until  # noqa: F401

COMPOSE = Path(__file__).parents[2] / "compose.yaml"
TOKEN = "open-sesame-to-two-servers"


def started(many: Hosts, service: dict[str, Any]) -> Any:
    """A service's command as a process: the address of its database, its folder and its port are this test's."""
    words = [re.sub(r"postgresql://\S+", many.url, word) for word in service["command"]]
    words = [word.replace("--data=/data", "--data=data").replace("--port=8000", "--port=0") for word in words]
    return many.started_as(words, {"LOOPWRIGHT_TOKEN": TOKEN})


@pytest.mark.slow
def test_its_servers_and_workers_share_runs_and_files_and_outlive_each_other(many: Hosts) -> None:
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    assert {*services} == {"postgres", "server-1", "server-2", "worker-1", "worker-2"}
    first, second = [started(many, services[name]) for name in ("server-1", "server-2")]
    worker, other = [started(many, services[name]) for name in ("worker-1", "worker-2")]
    probe = services["server-1"]["healthcheck"]["test"][-1]
    path = re.search(r"127\.0\.0\.1:8000(\S+)'", probe).group(1)
    assert [each.client.get(path).status_code for each in (first, second)] == [200, 200]
    picture = save(many.folder / "picture.png", 1)
    with picture.open("rb") as file:
        uploaded = first.client.post("/uploads", files={"file": file}).json()["id"]
    asked = {"workflow": "iqa", "input": {"query": "Is it sharp?", "image": uploaded}}
    run_id = first.client.post("/runs", json=asked).json()["id"]
    first.signal(signal.SIGKILL)
    worker.signal(signal.SIGKILL)
    assert ended(second, run_id)["status"] == "finished"
    again = second.client.post("/workflows/iqa/run", json={"query": "Is it sharp?", "image": uploaded})
    assert again.status_code == 200 and again.json()["outcome"]["answer"], again.text
    page = second.client.get("/")
    assert page.status_code == 200
    other.signal(signal.SIGTERM)
    until(lambda: other.popen.poll() == 0)
