"""Downloading from a real HTTP server: whole files only, with the known hash."""

import shutil
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from installed import needs
from weights import ROOT, hub, published

from loopwright.errors import WeightsError
from loopwright.models.embedded import pulling
from loopwright.models.embedded.catalogue import KNOWN
from loopwright.models.embedded.pulling import pull

needs("huggingface_hub")

CONTENTS = {"model.onnx": bytes(range(256)) * 40_000, "tokenizer.json": b"{}" * 50}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_MODELS", str(tmp_path))


def test_downloads_each_file_at_the_pinned_revision_without_a_token(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with hub(CONTENTS) as server:
        weights = pull(published(CONTENTS), endpoint=server.url)
    assert {name: path.read_bytes() for name, path in weights.files.items()} == CONTENTS
    assert sorted(path.name for path in (tmp_path / "tiny").iterdir()) == sorted(CONTENTS)
    assert {path.split("/resolve/")[1].split("/")[0] for _, path, _ in server.requests} == {"a" * 40}
    assert set(server.tokens) == {None}


def test_what_downloads_comes_with_the_extra_that_runs_the_model(tmp_path: Path, monkeypatch) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for model in KNOWN.values():
        assert any(each.startswith("huggingface-hub") for each in extras[model.extra])
        if model.published:
            with pytest.raises(WeightsError, match=rf"pip install 'loopwright\[{model.extra}\]'"):
                pull(model)


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    model = published(CONTENTS)
    with hub(CONTENTS) as server:
        pull(model, endpoint=server.url)
        damaged = tmp_path / "tiny" / "model.onnx"
        damaged.write_bytes(b"x" * len(CONTENTS["model.onnx"]))
        pull(model, endpoint=server.url)
    assert damaged.read_bytes() == CONTENTS["model.onnx"]


def test_a_lost_connection_is_resumed_where_it_broke(tmp_path: Path) -> None:
    # The client writes, and so keeps, pieces of ten megabytes.
    contents = {"model.onnx": bytes(range(256)) * 160_000}
    with hub(contents) as server:
        server.cuts = 1
        pull(published(contents), endpoint=server.url)
        first, second = [asked for method, _, asked in server.requests if method == "GET"]
    assert first is None
    assert int(second.removeprefix("bytes=").removesuffix("-")) > 0
    assert (tmp_path / "tiny" / "model.onnx").read_bytes() == contents["model.onnx"]


def test_another_process_may_be_faster(monkeypatch) -> None:
    model, download = published(CONTENTS), pulling._download

    def overtaken(*args: Any) -> Path:
        part = download(*args)
        monkeypatch.setattr(pulling, "_download", download)
        pull(model, endpoint=server.url)
        return part

    monkeypatch.setattr(pulling, "_download", overtaken)
    with hub(CONTENTS) as server:
        weights = pull(model, endpoint=server.url)
    assert {name: path.read_bytes() for name, path in weights.files.items()} == CONTENTS


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_of_the_hub_is_named(tmp_path: Path, status: int) -> None:
    with hub(CONTENTS) as server, pytest.raises(WeightsError, match=f"{status}|cannot be reached"):
        server.status = status
        pull(published(CONTENTS), endpoint=server.url)


# The client asks five times, with pauses that grow.
@pytest.mark.slow
def test_a_hub_that_is_not_there_is_named_with_the_fix(tmp_path: Path) -> None:
    with hub({}) as gone:
        url = gone.url
    with pytest.raises(WeightsError, match=r"cannot be reached.*as model.onnx"):
        pull(published(CONTENTS), endpoint=url)


def test_no_space_is_said_before_anything_is_downloaded(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    model = published(CONTENTS)
    with hub(CONTENTS) as server, pytest.raises(WeightsError, match=r"needs .* bytes, but .* free"):
        pull(replace(model, files=(replace(model.files[0], bytes=free * 2),)), endpoint=server.url)
    assert server.requests == []
