"""``loopwright models`` on real files, and on a hub on loopback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner
from weights import MODELS, hub, lay, real

from loopwright.cli.models import app
from loopwright.errors import WeightsError
from loopwright.models.embedded.catalogue import KNOWN

BGE = KNOWN["bge-small-en-v1.5"]
XENOVA = KNOWN["bge-small-en-v1.5-xenova"]


def models(*words: str):
    return CliRunner().invoke(app, words)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("LOOPWRIGHT_MODELS", str(tmp_path))
    return tmp_path


def test_list_says_of_each_model_where_it_is(folder: Path) -> None:
    lay(folder, BGE)
    lay(folder, XENOVA)
    os.truncate(folder / XENOVA.name / "model.onnx", 7)
    done = models("list")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert done.exit_code == 0
    assert set(lines) == {"name", *KNOWN}
    assert lines[BGE.name].split()[1:4] == ["embedding", "35", "MB"]
    assert "MIT" in lines[BGE.name] and "local only" in lines[BGE.name]
    assert lines[BGE.name].endswith(str(folder / BGE.name))
    assert "has 7 bytes" in lines[XENOVA.name]
    assert lines["qwen2.5-coder-0.5b-instruct"].endswith("not here")


def test_check_finds_the_wrong_hash(folder: Path) -> None:
    lay(folder, BGE)
    done = models("check")
    assert done.exit_code == 1
    assert "not the expected file: its SHA-256 is" in done.stdout


def test_check_of_a_real_model(monkeypatch) -> None:
    real(BGE.name)
    monkeypatch.setenv("LOOPWRIGHT_MODELS", str(MODELS))
    done = models("check", BGE.name)
    assert done.exit_code == 0
    assert done.stdout == f"{BGE.name}: hash right\n"


@pytest.mark.parametrize(
    "words", [("check", BGE.name), ("pull", BGE.name), ("pull", "bge-smal"), ("check", "bge-smal")]
)
def test_a_name_that_cannot_be_had_is_a_plain_error(folder: Path, words: tuple[str, str]) -> None:
    done = models(*words)
    assert isinstance(done.exception, WeightsError)
    assert "cannot be downloaded" in str(done.exception) or "Did you mean 'bge-" in str(done.exception)


@pytest.mark.slow
def test_pull_shows_the_licence_first_and_refuses_another_content(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    at = XENOVA.published
    with hub({}) as server:
        for file in XENOVA.files:
            server.contents[f"/{at.repository}/resolve/{at.revision}/{file.remote}"] = b"z" * 1000
        # In a process of its own: the hub's client reads HF_ENDPOINT when it is imported.
        environment = {**os.environ, "HF_ENDPOINT": server.url, "LOOPWRIGHT_MODELS": str(tmp_path)}
        command = [sys.executable, "-m", "loopwright", "models", "pull", XENOVA.name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.startswith(f"{XENOVA.name}: 35 MB, licence MIT, from {XENOVA.published.repository} at ea104da")
    assert "was refused and removed" in done.stderr
    assert not list(tmp_path.rglob("*.onnx"))
