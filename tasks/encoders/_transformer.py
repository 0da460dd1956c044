"""The base of encoders over Hugging Face checkpoints."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from infra.errors import EncoderError
from tasks.encoders import EncoderSpec, Kind, Vectors

if TYPE_CHECKING:
    import torch


class TransformerSpec(EncoderSpec):
    """The specification of a transformer: how a text becomes tokens, and tokens a vector.

    Attributes:
        max_length: Tokens, special ones included; longer texts are cut.
        before: Special tokens before the text.
        after: Special tokens after the text.
        pooling: ``mean`` over all tokens, or the ``first`` token.
    """

    max_length: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    pooling: Literal["mean", "first"]


class TransformerEncoder:
    """Embeds texts with a transformer, as its specification says.

    Texts are tokenised once and embedded in batches of similar length, so that little is padded.
    A GPU is used where there is one.

    Args:
        checkpoint: Folder of a checkpoint; by default the pinned one is loaded from the hub's cache
            or fetched from the hub.

    Raises:
        EncoderError: The checkpoint cannot be loaded.
    """

    spec: ClassVar[TransformerSpec]

    def __init__(self, checkpoint: Path | None = None) -> None:
        import torch  # noqa: PLC0415 - heavy libraries load when used
        from transformers import AutoTokenizer  # noqa: PLC0415

        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        source = self._source(checkpoint)
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(**source)
            self._model = self._load_model(source)
        except (OSError, ValueError) as error:
            raise EncoderError(
                f"cannot load encoder {self.spec.name!r} ({self.spec.model} at revision "
                f"{self.spec.revision}): {error}\nWithout a network, put the checkpoint into the "
                "hub's cache first (HF_HOME says where it is)"
            ) from error
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._model.to(self._device).eval()
        self._before = self._special(self.spec.before)
        self._after = self._special(self.spec.after)

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:  # noqa: ARG002 - these models treat both alike
        """Return (n, dimension) vectors of unit length, in the order of ``texts``."""
        import torch  # noqa: PLC0415

        vectors = np.empty((len(texts), self.spec.dimension), np.float32)
        token_ids = self._tokenise(texts)
        with torch.inference_mode():
            for rows in _batches_by_length(token_ids, batch_size):
                vectors[rows] = self._embed([token_ids[row] for row in rows]).cpu().numpy()
        return vectors

    def _source(self, checkpoint: Path | None) -> dict[str, Any]:
        if checkpoint is not None:
            return {"pretrained_model_name_or_path": str(checkpoint)}
        return {
            "pretrained_model_name_or_path": self.spec.model,
            "revision": self.spec.revision,
        }

    def _load_model(self, source: dict[str, Any]) -> Any:  # noqa: ANN401 - a torch module
        from transformers import AutoModel  # noqa: PLC0415

        return AutoModel.from_pretrained(**source)

    def _special(self, tokens: Sequence[str]) -> list[int]:
        vocabulary = self._tokenizer.get_vocab()
        missing = [token for token in tokens if token not in vocabulary]
        if missing:
            raise EncoderError(f"the tokenizer of {self.spec.name!r} has no token {missing[0]!r}")
        return [vocabulary[token] for token in tokens]

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        text_length = self.spec.max_length - len(self._before) - len(self._after)
        encoded = self._tokenizer(
            list(texts), add_special_tokens=False, truncation=True, max_length=text_length
        )
        return [self._before + ids + self._after for ids in encoded["input_ids"]]

    def _embed(self, token_ids: Sequence[Sequence[int]]) -> "torch.Tensor":
        """Return (batch, dimension) unit vectors of one batch."""
        import torch  # noqa: PLC0415
        from torch.nn.functional import normalize  # noqa: PLC0415

        longest = max(len(ids) for ids in token_ids)
        padding = self._tokenizer.pad_token_id
        padded = torch.tensor([[*ids, *[padding] * (longest - len(ids))] for ids in token_ids])
        lengths = torch.tensor([len(ids) for ids in token_ids])
        mask = (torch.arange(longest) < lengths[:, None]).long().to(self._device)
        hidden = self._model(input_ids=padded.to(self._device), attention_mask=mask)
        return normalize(self._pool(hidden.last_hidden_state, mask), dim=1)

    def _pool(self, hidden: "torch.Tensor", mask: "torch.Tensor") -> "torch.Tensor":
        """Return (batch, dimension) vectors from (batch, tokens, width) hidden states."""
        if self.spec.pooling == "first":
            return hidden[:, 0]
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


def _batches_by_length(token_ids: Sequence[Sequence[int]], batch_size: int) -> Iterator[list[int]]:
    """Yield rows in batches, the longest texts first, so that a lack of memory shows at once."""
    order = sorted(range(len(token_ids)), key=lambda row: -len(token_ids[row]))
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]
