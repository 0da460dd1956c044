"""Laws of tokens and batches: what is cut, what is computed together, what is computed once.

Covers `tasks.encoders._tokens`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.encoders import encoders
from tasks.encoders._tokens import TextTokenizer, cut_by_tokens
from tasks.encoders._transformer import TransformerEncoder
from tests.fakes.checkpoints import make_checkpoint


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(0, 9), st.integers(1, 200))
def test_every_row_is_in_one_batch_and_batches_keep_their_limits(
    lengths: list[int], most_texts: int, most_tokens: int
) -> None:
    batches = list(cut_by_tokens(lengths, most_texts, most_tokens))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    longest = [max(lengths[row] for row in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    for batch, length in zip(batches, longest, strict=True):
        assert len(batch) == 1 or length * len(batch) <= most_tokens
        assert not most_texts or len(batch) <= most_texts


class Recorded:
    """A tokenizer that remembers how long the texts were that it was given."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.characters: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __call__(self, texts: list[str], **options: Any) -> Any:
        self.characters += map(len, texts)
        return self._tokenizer(texts, **options)


@pytest.fixture
def encoder(tmp_path: Path) -> TransformerEncoder:
    found = encoders.get("minilm")(make_checkpoint("minilm", tmp_path, 384))
    assert isinstance(found, TransformerEncoder)
    return found


def test_equal_texts_are_tokenised_once_and_their_vectors_keep_the_order(
    encoder: TransformerEncoder,
) -> None:
    recorded = Recorded(encoder._tokenizer._tokenizer)
    encoder._tokenizer = TextTokenizer(recorded, encoder.spec)
    texts = ["a", "read a json file", "a", "", "a", "read a json file"] * 500
    vectors = encoder.encode(texts, "code", 0)
    assert len(recorded.characters) == 3
    rows = {text: encoder.encode([text], "code", 0)[0] for text in set(texts)}
    assert np.allclose(vectors, [rows[text] for text in texts], atol=1e-5)


def test_a_text_without_any_token_has_a_vector(tmp_path: Path) -> None:
    folder = make_checkpoint("minilm", tmp_path, 32)
    reference = f"checkpoint:none={folder}?pooling=mean"  # whose tokenizer adds no special tokens
    assert encoders.get(reference)().encode(["", "x"], "code", 0).shape == (2, 32)
