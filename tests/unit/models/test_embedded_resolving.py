"""Where a model's files are looked for, and what is said when they are not right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from weights import lay

from loopwright.errors import WeightsError
from loopwright.models.embedded.catalogue import KNOWN
from loopwright.models.embedded.resolving import find, first_here, resolve
from loopwright.workflows.rag import RAGConfig, Services

BGE, E5 = KNOWN["bge-small-en-v1.5"], KNOWN["multilingual-e5-small"]


def test_without_the_variable_the_folder_is_in_the_working_directory(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("LOOPWRIGHT_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)
    lay(tmp_path / ".models", BGE)
    assert resolve(BGE.name, "embedding").place == Path(".models") / BGE.name


def test_the_first_whole_model_of_a_role_is_found(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_MODELS", str(tmp_path))
    assert first_here("embedding") is None
    lay(tmp_path, BGE)
    assert (first_here("embedding"), first_here("reranker")) == (BGE.name, None)
    (tmp_path / BGE.name / "model.onnx").write_bytes(b"half")
    assert first_here("embedding") is None


def test_auto_is_the_model_whose_vectors_the_store_has_and_none_without_its_packages(tmp_path, monkeypatch, caplog):
    def found(has_vectors) -> str | None:
        return Services.of(RAGConfig(), SimpleNamespace(has_vectors=has_vectors)).named("embedding", "auto")

    monkeypatch.setenv("LOOPWRIGHT_MODELS", str(tmp_path))
    monkeypatch.setattr("loopwright.models.embedded.resolving.first_here", first_here)
    lay(tmp_path, BGE), lay(tmp_path, E5)
    assert (found(lambda name: False), found(BGE.name.__eq__)) == (E5.name, BGE.name)
    monkeypatch.setattr("loopwright.workflows.stored.find_spec", {"onnxruntime": "there"}.get)
    assert found(BGE.name.__eq__) is None and "pip install 'loopwright[onnx]'" in caplog.text


def test_a_model_that_is_not_here_says_how_to_get_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_MODELS", str(tmp_path))
    assert find(BGE) is None
    with pytest.raises(WeightsError, match=r"models pull multilingual-e5-small'.*LOOPWRIGHT_MODELS"):
        resolve("multilingual-e5-small", "embedding")
    with pytest.raises(WeightsError, match=r"no publisher has this build.*pull bge-small-en-v1.5-xenova"):
        resolve(BGE.name, "embedding")


def test_a_model_of_another_role_is_refused() -> None:
    with pytest.raises(WeightsError, match=r"is for embedding, not for reranker. Known: ms-marco"):
        resolve(BGE.name, "reranker")


def test_the_users_hub_cache_serves_too(tmp_path: Path) -> None:
    model = KNOWN["bge-small-en-v1.5-xenova"]
    assert model.published is not None
    repository = tmp_path / "hub" / f"models--{model.published.repository.replace('/', '--')}"
    for file in model.files:
        path = repository / "snapshots" / model.published.revision / file.remote
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            stream.truncate(file.bytes)
    # The hub's client reads its variables when it is imported, hence another process.
    code = f"from loopwright.models.embedded.resolving import resolve; print(*resolve({model.name!r}, 'embedding').files.values())"
    environment = {**os.environ, "HF_HOME": str(tmp_path), "LOOPWRIGHT_MODELS": str(tmp_path / "none")}
    environment.pop("HF_HUB_CACHE", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.count(model.published.revision) == 2
