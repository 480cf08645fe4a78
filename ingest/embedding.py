"""Embedding: texts to vectors, with the model loaded only when a text needs it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ingest.errors import ConfigurationError, FatalError
from ingest.tokens import TokenCounter, resolve_model

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_BATCH = 32


class Embedder:
    """A sentence-transformers model on the CPU.

    Attributes:
        name: the model as the settings name it.
        texts_embedded: how many texts went through the model since this embedder was made.
    """

    def __init__(self, model: str) -> None:
        """Take note of ``model``; nothing is loaded yet.

        Raises:
            ConfigurationError: there is no such folder, or the embedded model is not installed.
        """
        self.name = model
        self.texts_embedded = 0
        self._location = resolve_model(model)

    @property
    def model_loaded(self) -> bool:
        """True once the model's weights are in memory."""
        return "_model" in self.__dict__

    @cached_property
    def dimension(self) -> int:
        """Number of components of a vector.

        Read from the model's files where they tell, because opening the index asks for it and
        loading the weights takes seconds.
        """
        known = _dimension_in_files(Path(self._location))
        if known is None:
            known = self._model.get_embedding_dimension()
        if known is None:
            raise ConfigurationError(
                "dimension_unknown",
                f"The embedding model {self.name!r} does not say how long its vectors are. Name "
                "another model in MUNIMENT_EMBEDDING_MODEL.",
            )
        return known

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of ``texts``, shape (n, dimension), each of length 1.

        The last digits depend on what is embedded together: never hash or compare them exactly.

        Raises:
            FatalError: a text is over the model's limit, which the model would cut without a
                warning, or a vector is not finite.
            ConfigurationError: the model cannot be loaded.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        self._refuse_long(texts)
        vectors: NDArray[np.float32] = np.asarray(
            self._model.encode(
                list(texts),
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            ),
            dtype=np.float32,
        )
        if not np.isfinite(vectors).all():
            raise FatalError(
                "vector_not_finite",
                f"The embedding model {self.name!r} returned a vector that is not finite. Nothing "
                "was loaded. Get the model again, or name another one.",
            )
        self.texts_embedded += len(texts)
        return vectors

    def _refuse_long(self, texts: Sequence[str]) -> None:
        for text, tokens in zip(texts, self._counter.count(texts), strict=True):
            if tokens > self._counter.limit:
                raise FatalError(
                    "text_over_token_limit",
                    f"A text of {tokens} tokens ({text[:60]!r}…) is over the limit of "
                    f"{self._counter.limit} of the embedding model {self.name!r}, which would cut "
                    "it silently. Nothing was loaded. Chunk the documents again with this model.",
                )

    @cached_property
    def _counter(self) -> TokenCounter:
        return TokenCounter(self.name)

    @cached_property
    def _model(self) -> SentenceTransformer:
        local = Path(self._location).is_dir()
        # Both are read once, when huggingface_hub is imported: so they have to be set before.
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        if local:
            os.environ["HF_HUB_OFFLINE"] = "1"
        from sentence_transformers import SentenceTransformer

        try:
            model = SentenceTransformer(self._location, device="cpu", local_files_only=local)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                "model_unreadable",
                f"The embedding model {self.name!r} cannot be loaded from {self._location}: "
                f"{error}. Check the setting MUNIMENT_EMBEDDING_MODEL and the model's files.",
            ) from error
        if (model.max_seq_length or self._counter.limit) < self._counter.limit:
            raise FatalError(
                "token_limits_disagree",
                f"The embedding model {self.name!r} cuts texts at {model.max_seq_length} tokens, "
                f"but its files say {self._counter.limit}. Nothing was loaded. Write its limit as "
                "max_seq_length into its sentence_bert_config.json and chunk again.",
            )
        return model


def _dimension_in_files(folder: Path) -> int | None:
    """Return the length of the vectors where the files in ``folder`` leave no doubt, else None.

    That is so if a single pooling ends the model, but for scaling vectors to length 1.
    """
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        kinds = [module["type"].rpartition(".")[2] for module in modules]
        if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
            return None
        config = (folder / modules[1]["path"] / "config.json").read_text(encoding="utf-8")
        pooling = json.loads(config)
        # Each mode that is on adds a vector of its own to the result.
        modes = [on for key, on in pooling.items() if key.startswith("pooling_mode_") and on]
        return int(pooling["word_embedding_dimension"]) if len(modes) == 1 else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
