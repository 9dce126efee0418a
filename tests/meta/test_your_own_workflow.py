"""A workflow of somebody else's package: installed into an environment of its own, it is everywhere that ours are.

The package is the one that ``docs/your-own-workflow.md`` builds; nothing of this repository names it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving_program import serving

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/headline"
DOC = (ROOT / "docs/your-own-workflow.md").read_text(encoding="utf-8")
TEXT = "The harbour of Brindlemere was rebuilt in 1912 after the great flood. It opened in May."
PROGRAM = "import sys; from loopwright.cli import main; sys.argv[0] = 'loopwright'; main()"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with Loopwright and the package in it."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    made = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    # Laid down as pip would. Loopwright and what it needs are taken from here: nothing can be downloaded.
    site = next((folder / "venv").rglob("site-packages"))
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = site / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir()
    told = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(told)
    ((group, named),) = project["entry-points"].items()
    points = [f"{name} = {place}\n" for name, place in named.items()]
    (about / "entry_points.txt").write_text(f"[{group}]\n" + "".join(points))
    shutil.copy(EXAMPLE / "headline.py", site)
    (site / "loopwright.pth").write_text(f"{ROOT / 'src'}\n{sysconfig.get_path('purelib')}\n")
    return made


@pytest.fixture
def loopwright(python, tmp_path):
    """Run the program in that environment."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [python, "-c", PROGRAM, *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120)

    return run


@pytest.fixture(scope="module")
def client(python, tmp_path_factory) -> Iterator[httpx.Client]:
    """A client of ``loopwright serve headline`` in that environment."""
    folder, without = tmp_path_factory.mktemp("served"), ("PYTHONPATH", "LOOPWRIGHT_TOKEN")
    with serving([python, "-c", PROGRAM], folder, "headline", without=without) as (_process, made):
        yield made


def ended(client: httpx.Client, run_id: str) -> dict[str, Any]:
    """A run's record once it has ended."""
    client.get(f"/runs/{run_id}/events")  # a stream that ends with the run
    return client.get(f"/runs/{run_id}").json()


def test_it_is_as_short_as_its_page_says():
    assert len((EXAMPLE / "headline.py").read_text(encoding="utf-8").splitlines()) <= 60


@pytest.mark.slow
def test_what_the_page_shows_of_the_terminal_is_what_it_prints(loopwright):
    shown = re.findall(r"^\$ loopwright (run headline .+|check headline)\n((?:(?!\$|```).*\n)*)", DOC, re.MULTILINE)
    assert len(shown) == 3
    for command, said in shown:
        words = [word.strip('"') for word in re.findall(r'"[^"]+"|\S+', command)]
        done = loopwright(*words)
        lines = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
        lines = [re.sub(r"\d+\.\d\d s$", "0.01 s", line) for line in lines]
        assert [line for line in said.splitlines() if line not in lines] == [], done


def test_the_page_has_it_with_its_form(client):
    (described,) = client.get("/workflows").json()
    assert (described["name"], described["title"], described["loops"]) == ("headline", "Headline", ["shorter"])
    fields = described["input_schema"]["properties"]
    assert (fields["text"]["title"], fields["text"]["format"], fields["most"]["maximum"]) == ("Text", "multiline", 200)
    assert client.get("/").headers["content-type"].startswith("text/html")
    topology = client.get("/workflows/headline/topology").json()
    assert topology["certificate"]["max_supersteps"] == 12
    nodes = {node["name"]: node for node in topology["nodes"]}
    assert (nodes["shorten"]["label"], nodes["shorten"]["icon"]) == ("Shorten", "✂️")


def test_it_runs_forks_and_compares_over_http(client):
    whole = client.post("/workflows/headline/run", json={"text": TEXT, "most": 60}).json()
    assert (whole["outcome"]["status"], len(whole["outcome"]["answer"]) <= 60) == ("answered", True)
    refused = client.post("/workflows/headline/run", json={"text": TEXT, "least": 1})
    assert (refused.status_code, "least" in refused.json()["error"]) == (400, True)
    begun = client.post("/runs", json={"workflow": "headline", "input": {"text": TEXT}}).json()["id"]
    assert ended(client, begun)["stop_reason"] == "shorter"
    views = client.get(f"/runs/{begun}/checkpoints").json()
    first = next(view for view in views if "shorten" in json.dumps(view))
    fork = client.post(f"/runs/{begun}/fork", json={"checkpoint_id": first["checkpoint_id"], "state": {"most": 60}})
    assert fork.status_code == 201, fork.text
    assert ended(client, fork.json()["id"])["outcome"]["status"] == "answered"
    compared = client.get("/compare", params={"a": begun, "b": fork.json()["id"]})
    assert compared.status_code == 200 and "headline" in compared.text
    without = client.post(f"/runs/{begun}/counterfactual", json={"loop": "shorter"}).json()
    assert ended(client, without["id"])["outcome"]["status"] == "best_effort"
