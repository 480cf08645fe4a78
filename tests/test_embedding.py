"""Embedding: vectors of length 1, nothing cut, nothing downloaded, nothing loaded for nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from test_tokens import run_without_network

from ingest.embedding import Embedder
from ingest.errors import ConfigurationError, FatalError
from ingest.settings import EMBEDDED_MODEL
from ingest.tokens import resolve_model


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(EMBEDDED_MODEL)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(resolve_model(EMBEDDED_MODEL), folder)
    return folder


def test_nothing_is_loaded_until_a_text_needs_it() -> None:
    embedder = Embedder(EMBEDDED_MODEL)
    assert embedder.name == EMBEDDED_MODEL
    assert embedder.dimension == 384
    vectors = embedder.embed([])
    assert vectors.shape == (0, 384)
    assert vectors.dtype == np.float32
    assert not embedder.model_loaded
    assert embedder.texts_embedded == 0


def test_vectors(embedder: Embedder) -> None:
    before = embedder.texts_embedded
    vectors = embedder.embed(["The fee is due.", "A payment is owed.", "Whales sing at night."])
    assert vectors.shape == (3, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert embedder.model_loaded
    assert embedder.texts_embedded == before + 3


def test_order_is_kept_over_batches(embedder: Embedder) -> None:
    texts = [f"{'word ' * (n % 40)}number {n}" for n in range(80)]
    together = embedder.embed(texts)
    for index in (0, 31, 32, 79):
        alone = embedder.embed([texts[index]])[0]
        assert together[index] @ alone == pytest.approx(1, abs=1e-4)


def test_a_text_over_the_limit_is_refused(embedder: Embedder) -> None:
    before = embedder.texts_embedded
    assert embedder.embed(["word " * 254]).shape == (1, 384)
    with pytest.raises(FatalError, match="257 tokens") as caught:
        embedder.embed(["short", "word " * 255])
    assert caught.value.code == "text_over_token_limit"
    assert embedder.texts_embedded == before + 1


def test_nothing_is_drawn_on_the_terminal(embedder: Embedder, capfd: pytest.CaptureFixture) -> None:  # type: ignore[type-arg]
    embedder.embed(["text"] * 40)
    assert capfd.readouterr() == ("", "")


def test_no_network_is_touched() -> None:
    shown = run_without_network(
        """
import os
from ingest.embedding import Embedder
from ingest.settings import EMBEDDED_MODEL

embedder = Embedder(EMBEDDED_MODEL)
assert "torch" not in sys.modules
print(embedder.embed(["hello"]).shape, os.environ["HF_HUB_OFFLINE"])
import huggingface_hub.constants
print(huggingface_hub.constants.HF_HUB_OFFLINE)
"""
    )
    assert shown == "(1, 384) 1\nTrue\n"


def test_dimension_of_another_pooling_is_asked_of_the_model(model: Path) -> None:
    path = model / "1_Pooling" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pooling_mode_max_tokens": True}))
    embedder = Embedder(str(model))
    assert embedder.dimension == 768
    assert embedder.model_loaded
    assert embedder.embed(["hello"]).shape == (1, 768)


class _CutsEarly:
    """A model that reads less of a text than its files say."""

    max_seq_length = 100

    def __init__(self, *arguments: object, **named: object) -> None:
        pass


def test_a_model_that_cuts_before_its_files_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentence_transformers.SentenceTransformer", _CutsEarly)
    with pytest.raises(FatalError, match="at 100 tokens, but its files say 256") as caught:
        Embedder(EMBEDDED_MODEL).embed(["hello"])
    assert caught.value.code == "token_limits_disagree"


def test_a_vector_that_is_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = Embedder(EMBEDDED_MODEL)
    monkeypatch.setattr(
        embedder._model, "encode", lambda texts, **named: np.full((len(texts), 384), np.nan)
    )
    with pytest.raises(FatalError, match="not finite"):
        embedder.embed(["hello"])
    assert embedder.texts_embedded == 0


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    shutil.copy(Path(resolve_model(EMBEDDED_MODEL)) / "tokenizer.json", tmp_path)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        Embedder(str(tmp_path)).embed(["hello"])


def test_a_wrong_folder() -> None:
    with pytest.raises(ConfigurationError, match="MUNIMENT_EMBEDDING_MODEL"):
        Embedder("/no/such/folder")
