"""The real embedding models and the reranker: where their files are looked for, and what they find close."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from weights import lay, real

from loopwright.errors import WeightsError
from loopwright.models.embedded.catalogue import KNOWN
from loopwright.models.embedded.resolving import find, first_here, resolve
from loopwright.workflows.rag import RAGConfig, Services

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from loopwright.models.embedded.encoder import OnnxEmbedder, OnnxReranker, open_embedder, open_reranker

EMBEDDER = "bge-small-en-v1.5"
PARAPHRASES = [
    ("The cat sleeps on the sofa.", "A kitten is napping on the couch."),
    ("How do I reset my password?", "I forgot my login and need a new one."),
    ("Shares fell sharply after the profit warning.", "The stock price dropped when earnings were cut."),
    ("Boil the noodles for eight minutes.", "Cook the pasta in hot water until it is done."),
    ("The spacecraft entered orbit around Mars.", "The probe is now circling the red planet."),
    ("He was treated in hospital for a broken leg.", "Doctors set the fracture in his shin."),
]
PASSAGES = [text for pair in PARAPHRASES for text in pair]
LONG = "The committee discussed the budget of the harbour at length. " * 2_000
THAI = "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(real(EMBEDDER))


@pytest.fixture(scope="module")
def reranker() -> OnnxReranker:
    return OnnxReranker(real("ms-marco-MiniLM-L-12-v2"))


def test_every_paraphrase_is_closer_than_every_other_sentence(embedder: OnnxEmbedder) -> None:
    left, right = (embedder.embed([pair[side] for pair in PARAPHRASES]) for side in (0, 1))
    similarity = left @ right.T
    assert (similarity.argmax(axis=1) == np.arange(len(PARAPHRASES))).all()
    assert (similarity.argmax(axis=0) == np.arange(len(PARAPHRASES))).all()


def test_a_texts_vector_depends_on_that_text_alone(embedder: OnnxEmbedder) -> None:
    texts = [*PASSAGES, LONG, THAI, "", *PASSAGES[::-1], "one", "two words", "and three words", "four", LONG[:500]]
    assert len(texts) == 32
    together = embedder.embed(texts)
    np.testing.assert_allclose(together, np.stack([embedder.embed([text])[0] for text in texts]), atol=1e-6)


def test_the_reranker_puts_the_answer_first(reranker: OnnxReranker) -> None:
    scores = reranker.score("Which vehicle reached a planet?", PASSAGES)
    assert (scores.shape, scores.dtype) == ((12,), np.float32)
    assert set(np.argsort(-scores)[:2]) == {8, 9}


def test_a_score_depends_on_its_pair_alone(reranker: OnnxReranker) -> None:
    together = reranker.score("password", PASSAGES)
    np.testing.assert_allclose(together, [float(reranker.score("password", [text])[0]) for text in PASSAGES], atol=1e-5)
    np.testing.assert_array_equal(reranker.score("password", PASSAGES[::-1]), together[::-1])


@pytest.mark.parametrize(("name", "opener"), [(EMBEDDER, open_embedder), ("ms-marco-MiniLM-L-12-v2", open_reranker)])
def test_a_damaged_file_of_the_right_size_is_named_with_the_fix(tmp_path, monkeypatch, name, opener) -> None:
    monkeypatch.setenv("LOOPWRIGHT_MODELS", str(tmp_path))
    place = lay(tmp_path, KNOWN[name])
    with pytest.raises(WeightsError, match=rf"cannot be loaded.*models check {name}"):
        opener(name)
    (place / "tokenizer.json").write_bytes(real(name).files["tokenizer.json"].read_bytes())
    with pytest.raises(WeightsError, match=r"model.onnx cannot be loaded"):
        opener(name)


BGE, E5 = KNOWN["bge-small-en-v1.5"], KNOWN["multilingual-e5-small"]


def test_without_the_variable_the_folder_is_in_the_working_directory(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("LOOPWRIGHT_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)
    lay(tmp_path / ".models", BGE)
    assert resolve(BGE.name, "embedding").place == Path(".models") / BGE.name


def test_the_first_whole_model_of_a_role_is_found(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_MODELS", str(tmp_path))
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as where nobody has a home
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


def test_a_model_that_is_not_here_or_of_another_role_is_refused_with_the_fix(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_MODELS", str(tmp_path))
    assert find(BGE) is None
    with pytest.raises(WeightsError, match=r"models pull multilingual-e5-small'.*LOOPWRIGHT_MODELS"):
        resolve("multilingual-e5-small", "embedding")
    with pytest.raises(WeightsError, match=r"no publisher has this build.*pull bge-small-en-v1.5-xenova"):
        resolve(BGE.name, "embedding")
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
