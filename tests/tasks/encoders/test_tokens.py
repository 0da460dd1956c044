"""Laws of tokens and batches: what is cut, what is computed together, what is computed once.

Covers the tokenizer and batches of `tasks.encoders._transformer`.
"""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from infra.subsets import cut_by_length
from tasks.encoders import encoders
from tests.fakes.checkpoints import make_checkpoint


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(0, 9), st.integers(1, 200))
def test_every_row_is_in_one_batch_and_batches_keep_their_limits(
    lengths: list[int], most_texts: int, most_tokens: int
) -> None:
    batches = list(cut_by_length(lengths, most_texts, most_tokens))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    longest = [max(lengths[row] for row in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    for batch, length in zip(batches, longest, strict=True):
        assert len(batch) == 1 or length * len(batch) <= most_tokens
        assert not most_texts or len(batch) <= most_texts


def test_a_text_without_any_token_has_a_vector(tmp_path: Path) -> None:
    folder = make_checkpoint("minilm", tmp_path, 32)
    reference = f"checkpoint:none={folder}?pooling=mean"  # whose tokenizer adds no special tokens
    assert encoders.get(reference)().encode(["", "x"], "code", 0).shape == (2, 32)
