"""Servers and workers on one PostgreSQL, as real processes and as compose.yaml starts them: killed, stopped, of two versions."""

import re
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from batch_images import save
from hosts import (
    HELD,
    NEWER,
    Hosts,
    begin,
    ended,
    hosts,
    hosts_of_a_test,  # noqa: F401
    log,
    postgres_server,  # noqa: F401
    postgres_url,  # noqa: F401
    record,
    stream,
    until,
    whole,
)
from postgres import separate


def test_a_killed_workers_run_goes_on_in_another(many: Hosts) -> None:
    many.lease = 6.0  # the default
    server = many.server("--no-work")
    workers = [many.worker() for _ in range(2)]
    run_id = begin(server, HELD)
    until(lambda: "look#1" in many.begun("r"))
    time.sleep(0.3)  # until what came before it is kept
    victim = many.on("r")
    assert victim in workers
    victim.kill()
    killed = time.monotonic()
    until(lambda: many.begun("r").count("look#1") == 2)
    assert time.monotonic() - killed < 10
    many.go("look#1")
    found = ended(server, run_id)
    events = log(server, run_id)
    assert (found["status"], found["outcome"]["answer"], found["passes"]) == ("finished", "done after 3", {"again": 2})
    assert Counter(many.begun("r")) - whole(3) == Counter({"look#1": 1}), "only the node under way ran again"
    assert [event["type"] for event in events].count("run_finished") == 1
    steps = [event["step"] for event in events if event["type"] == "state"]
    assert steps == [*range(-1, len(steps) - 1)]


@pytest.mark.slow
def test_every_server_shows_the_same_events_and_can_cancel(many: Hosts) -> None:
    first, second = many.server("--no-work"), many.server("--no-work")
    many.worker()
    run_id = begin(first, HELD)
    seen: list = []
    following = threading.Thread(target=lambda: seen.extend(stream(second, run_id)))
    following.start()
    early = stream(first, run_id, most=3)
    until(lambda: "look#1" in many.begun("r"))
    many.go("look#1")
    following.join(60)
    assert seen[:3] == early and [number for number, _event in seen] == [*range(1, len(seen) + 1)]
    assert stream(first, run_id, after=3) == seen[3:]
    assert seen[-1][1]["type"] == "run_finished"

    held = begin(first, {**HELD, "name": "c", "hold": "look#0"})
    until(lambda: many.begun("c"))
    began = time.monotonic()
    assert second.client.post(f"/runs/{held}/cancel").json()["status"] == "cancelled"
    assert time.monotonic() - began < 3
    assert record(first, held)["error_type"] == "Cancelled"


@pytest.mark.slow
def test_a_question_is_answered_at_another_server_and_forks_run_anywhere(many: Hosts) -> None:
    first, second = many.server(), many.server("--no-work")
    run_id = begin(first, {"name": "q", "ask": True})
    assert ended(second, run_id)["status"] == "waiting"
    assert second.client.post(f"/runs/{run_id}/resume", json={"answer": "yes"}).status_code == 200
    until(lambda: record(first, run_id)["status"] == "finished")
    assert record(first, run_id)["outcome"]["answer"] == "yes after 1"
    at = second.client.get(f"/runs/{run_id}/checkpoints").json()
    place = next(each for each in at if each["next"] == ["think"])["checkpoint_id"]
    asked = {"checkpoint_id": place, "state": {"done": 7, "ask": False}}
    fork = second.client.post(f"/runs/{run_id}/fork", json=asked).json()["id"]
    assert ended(first, fork)["outcome"]["answer"] == "done after 7"


@pytest.mark.slow
def test_a_worker_that_wakes_after_its_lease_leaves_the_run_to_the_other(many: Hosts) -> None:
    server, first = many.server("--no-work"), many.worker()
    run_id = begin(server, HELD)
    until(lambda: "look#1" in many.begun("r"))
    time.sleep(0.3)
    first.signal(signal.SIGSTOP)
    many.worker()
    until(lambda: many.begun("r").count("look#1") == 2)
    many.go("look#1")
    before = ended(server, run_id), log(server, run_id)
    first.signal(signal.SIGCONT)
    until(lambda: "was given up here" in first.told)
    assert (record(server, run_id), log(server, run_id)) == before
    assert before[0]["outcome"]["answer"] == "done after 3"
    again = begin(server, {"name": "again"})
    assert ended(server, again)["status"] == "finished", "both go on working"


@pytest.mark.slow
def test_a_run_that_ends_its_workers_is_given_up_and_the_others_go_on(many: Hosts) -> None:
    server = many.server("--no-work")
    for _ in range(4):
        many.worker()
    calm = [begin(server, {"name": f"calm{number}", "rounds": 4, "seconds": 1.0}) for number in range(4)]
    poison = begin(server, {"name": "poison", "dies": True})
    found = ended(server, poison)
    assert (found["status"], found["error_type"], found["lost"]) == ("failed", "RunGivenUp", 3)
    assert "ended 3 times in a row" in found["error"]
    assert log(server, poison)[-1]["type"] == "run_failed"
    assert [ended(server, run_id)["status"] for run_id in calm] == ["finished"] * 4
    assert len([each for each in many.started if each.popen.poll() is not None]) == 3


@pytest.mark.slow
def test_a_run_that_ends_its_server_is_given_up_over_sqlite_too(many: Hosts) -> None:
    server = many.server(alone=True)
    calm = begin(server, {"name": "calm", "rounds": 2, "hold": "look#1"})
    until(lambda: "look#1" in many.begun("calm"))
    time.sleep(0.3)
    with suppress(httpx.TransportError):  # it may be gone before it answers
        begin(server, {"name": "poison", "dies": True})
    for _ in range(2):
        until(lambda: many.started[-1].popen.poll() is not None)
        many.server(alone=True)
    many.go("look#1")  # by now each of the two goes on alone
    until(lambda: many.started[-1].popen.poll() is not None)
    last = many.server(alone=True)
    poison = last.client.get("/runs", params={"text": "poison"}).json()["runs"][0]["id"]
    found = ended(last, poison)
    assert (found["status"], found["error_type"], found["lost"]) == ("failed", "RunGivenUp", 3)
    assert ended(last, calm)["outcome"]["answer"] == "done after 2"
    assert many.begun("poison").count("look#0") == 3


@pytest.mark.slow
def test_a_run_that_waits_for_a_worker_can_be_cancelled(many: Hosts) -> None:
    server = many.server("--no-work")
    run_id = begin(server, {"name": "r"}, priority=7)
    assert (record(server, run_id)["status"], record(server, run_id)["priority"]) == ("queued", 7)
    assert server.client.delete(f"/runs/{run_id}").status_code == 400
    assert server.client.post(f"/runs/{run_id}/cancel").json()["status"] == "cancelled"
    assert log(server, run_id)[-1]["type"] == "run_failed"
    with socket.socket() as kept:  # the worker may have it too, and nobody is given it by chance
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        many.worker("--port", str(port))
    found = ended(server, begin(server, {"name": "next", "blocks": 3 * many.lease}))
    assert (found["status"], found["lost"]) == ("finished", 0), "a node that blocks the event loop"
    told = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    assert 'loopwright_runs_total{status="finished",workflow="own-graph"} 1.0' in told
    assert many.begun("r") == []


@pytest.mark.slow
def test_a_worker_that_is_told_to_stop_gives_its_runs_back(many: Hosts) -> None:
    server, first = many.server("--no-work"), many.worker()
    run_id = begin(server, {**HELD, "rounds": 2})
    seen: list = []
    following = threading.Thread(target=lambda: seen.extend(stream(server, run_id)))
    following.start()
    until(lambda: "look#1" in many.begun("r"))
    first.signal(signal.SIGTERM)
    until(lambda: "given back" in first.told)
    many.go("look#1")
    assert first.popen.wait(30) == 0
    assert record(server, run_id)["status"] == "queued"
    many.worker()
    assert ended(server, run_id)["outcome"]["answer"] == "done after 2"
    assert Counter(many.begun("r")) == whole(2), "nothing ran twice"
    following.join(30)
    assert seen[-1][1]["type"] == "run_finished" and "run_failed" not in {event["type"] for _n, event in seen}


@pytest.mark.slow
def test_a_run_of_an_older_graph_waits_for_a_worker_that_has_it(many: Hosts) -> None:
    server, older = many.server("--no-work"), many.worker()
    run_id = begin(server, HELD)
    until(lambda: "look#1" in many.begun("r"))
    time.sleep(0.3)
    older.kill()
    many.write(NEWER)
    many.worker()
    until(lambda: record(server, run_id)["error"])
    found = record(server, run_id)
    assert (found["status"], found["error_type"]) == ("queued", "InputError")
    assert "was begun by a graph of another structure" in found["error"]
    many.go("look#1")
    assert ended(server, begin(server, {"name": "new"}))["status"] == "finished"
    assert record(server, run_id)["status"] == "queued"
    many.write()
    many.worker()
    found = ended(server, run_id)
    assert (found["status"], found["error"]) == ("finished", None)


@pytest.mark.slow
def test_the_database_is_gone_for_a_while_and_nothing_is_lost(tmp_path: Path) -> None:
    with separate() as (database, url), hosts(tmp_path, url) as many:
        many.lease = 6.0
        server, _first, _second = many.server("--no-work"), many.worker(), many.worker()
        runs = [begin(server, {"name": f"r{number}", "rounds": 8, "seconds": 0.5}) for number in range(6)]
        waits = [begin(server, {"name": f"w{number}"}) for number in range(6)]
        until(lambda: all("look#1" in many.begun(f"r{number}") for number in range(6)))
        database.stop()
        gone = server.client.get(f"/runs/{runs[0]}")
        assert gone.status_code == 503
        assert "cannot be reached" in gone.text
        time.sleep(20)
        database.start()
        found = [ended(server, run_id, 120) for run_id in (*runs, *waits)]
        assert [each["status"] for each in found] == ["finished"] * 12
        for number, run_id in enumerate(runs):
            assert found[number]["outcome"]["answer"] == "done after 8"
            assert [event["type"] for event in log(server, run_id)].count("run_finished") == 1
        for worker in many.started[1:]:
            assert "cannot be reached" in worker.told and "can be reached again" in worker.told
            assert worker.popen.poll() is None


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
