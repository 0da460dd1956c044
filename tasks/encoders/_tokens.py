"""From texts to token ids, and from token ids to batches of similar length."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from infra.batches import batched, cut_by_length
from infra.errors import EncoderError
from tasks.encoders._specs import Kind, TransformerSpec

TokenIds = list[int]

_TEXTS_AT_ONCE = 1024  # tokenised; enough that its batches hold texts of one length


class TextTokenizer:
    """Turns texts into token ids, as a specification says.

    Args:
        tokenizer: That of the checkpoint.
        spec: The specification.
    """

    def __init__(self, tokenizer: Any, spec: TransformerSpec) -> None:  # noqa: ANN401 - of transformers
        self._tokenizer = tokenizer
        self._spec = spec
        self._before = self._special(spec.before)
        self._after = self._special(spec.after)
        self.padding: int = tokenizer.pad_token_id or 0

    def batches(
        self, texts: Sequence[str], kind: Kind, most_texts: int, most_tokens: int
    ) -> Iterator[tuple[list[int], list[TokenIds]]]:
        """Yield (rows, their token ids) in batches of similar length, the longest first.

        Args:
            texts: All the texts.
            kind: Whether they are queries or codes.
            most_texts: Texts in a batch; 0 for no limit.
            most_tokens: Tokens in a batch, padding included; a longer text is a batch of its own.
        """
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        for chunk in batched(order, _TEXTS_AT_ONCE):
            token_ids = self.tokenise([texts[row] for row in chunk], kind)
            for batch in cut_by_length(list(map(len, token_ids)), most_texts, most_tokens):
                yield [chunk[one] for one in batch], [token_ids[one] for one in batch]

    def tokenise(self, texts: Sequence[str], kind: Kind) -> list[TokenIds]:
        """Return each text's token ids, special ones included, at most the stated number."""
        length = self._spec.length_of(kind) - len(self._before) - len(self._after)
        encoded = self._tokenizer(
            [self._spec.text_of(text, kind) for text in texts],
            add_special_tokens=self._spec.special_tokens == "tokenizer",
            truncation=True,
            max_length=length,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        # A text without any token would have no mean.
        return [
            [*self._before, *ids, *self._after] or [self.padding] for ids in encoded["input_ids"]
        ]

    def save(self, folder: Path) -> None:
        """Write the tokenizer's files into a folder."""
        self._tokenizer.save_pretrained(folder)

    def _special(self, tokens: Sequence[str]) -> TokenIds:
        vocabulary = self._tokenizer.get_vocab()
        missing = [token for token in tokens if token not in vocabulary]
        if missing:
            raise EncoderError(f"the tokenizer of {self._spec.name!r} has no token {missing[0]!r}")
        return [vocabulary[token] for token in tokens]
