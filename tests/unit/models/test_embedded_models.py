"""The real embedding models and the reranker: what they find close, and that a text's result is its own."""

from __future__ import annotations

import numpy as np
import pytest
from weights import lay, real

from loopwright.errors import WeightsError
from loopwright.models.embedded.catalogue import KNOWN

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
    alone = np.stack([embedder.embed([text])[0] for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_the_reranker_puts_the_answer_first(reranker: OnnxReranker) -> None:
    scores = reranker.score("Which vehicle reached a planet?", PASSAGES)
    assert (scores.shape, scores.dtype) == ((12,), np.float32)
    assert set(np.argsort(-scores)[:2]) == {8, 9}


def test_a_score_depends_on_its_pair_alone(reranker: OnnxReranker) -> None:
    together = reranker.score("password", PASSAGES)
    alone = [float(reranker.score("password", [text])[0]) for text in PASSAGES]
    np.testing.assert_allclose(together, alone, atol=1e-5)
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
