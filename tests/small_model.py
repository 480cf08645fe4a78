"""An embedding model that costs next to nothing."""

from __future__ import annotations

from pathlib import Path

from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from transformers import BertConfig, BertModel

from ingest.settings import EMBEDDED_MODEL
from ingest.tokens import resolve_model


def small_model(folder: Path) -> Path:
    """Make an untrained model with the real one's tokenizer: vectors are not what is tested."""
    real = SentenceTransformer(resolve_model(EMBEDDED_MODEL), device="cpu")
    config = BertConfig(
        vocab_size=len(real.tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
    )
    BertModel(config).save_pretrained(folder / "bert")
    real.tokenizer.save_pretrained(folder / "bert")
    reader = Transformer(str(folder / "bert"), max_seq_length=real.max_seq_length)
    SentenceTransformer(modules=[reader, Pooling(32)]).save(str(folder / "small"))
    return folder / "small"
