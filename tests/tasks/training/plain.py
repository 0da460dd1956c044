"""The published loops in plain PyTorch, over models of transformers as they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize
from transformers import AutoModel, AutoTokenizer, get_linear_schedule_with_warmup

from tasks.encoders import encoders, load_transformer

Batch = list[dict[str, str]]
BEFORE = {
    "roberta-base": ["<s>"],
    "codet5p": ["<s>"],
    "unixcoder": ["<s>", "<encoder-only>", "</s>"],
}


@dataclass(frozen=True)
class Loop:
    """What a published loop does.

    Attributes:
        scale: Of the cosines; None compares by inner products of vectors as they are.
        rate: The highest learning rate.
        warm_up: Share of the steps in which it rises.
        query_length: Tokens of a query; a code has 256.
    """

    scale: float | None
    rate: float
    warm_up: float
    query_length: int


LOOPS = {
    "cosqa-plus": Loop(scale=20, rate=2e-5, warm_up=0, query_length=128),
    "codexglue": Loop(scale=None, rate=5e-5, warm_up=0.1, query_length=256),
}


class PlainTraining:
    """A training in plain PyTorch.

    Args:
        encoder: Of the registered ones, whose tokens and pooling it has.
        folder: A checkpoint.
    """

    def __init__(self, encoder: str, folder: Path) -> None:
        self._before = BEFORE[encoder]
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model: Any
        self._pool: Callable[[Any, Tensor], Tensor]
        if encoder == "codet5p":
            self.model = cast(
                "Any", load_transformer(folder, encoders.get("codet5p").spec)
            ).network.transformer
            self._pool = lambda output, _: self.model.proj(output.last_hidden_state[:, 0])
        elif encoder == "unixcoder":
            self.model = AutoModel.from_pretrained(folder)
            self._pool = lambda output, mask: (
                (output.last_hidden_state * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            )
        else:
            self.model = AutoModel.from_pretrained(folder)
            self._pool = lambda output, _: output.pooler_output

    def train(self, loop: Loop, batches: Sequence[Batch]) -> tuple[list[float], list[Any]]:
        """Take a step for each batch; return the losses, and the weights after each step."""
        steps = len(batches)
        optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=loop.rate, eps=1e-8, weight_decay=0.0
        )
        warm_up = int(loop.warm_up * steps)
        schedule = get_linear_schedule_with_warmup(optimizer, warm_up, steps)  # type: ignore[no-untyped-call]
        losses, weights = [], []
        for batch in batches:
            queries = self._vectors([each["query"] for each in batch], loop.query_length)
            codes = self._vectors([each["code"] for each in batch], 256)
            similar = queries @ codes.T
            if loop.scale:
                similar = loop.scale * normalize(queries) @ normalize(codes).T
            loss = cross_entropy(similar, torch.arange(len(batch)))
            losses.append(loss.item())
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            weights.append(flat(self.model))
        return losses, weights

    def _vectors(self, texts: Sequence[str], length: int) -> Tensor:
        first = self._tokenizer.convert_tokens_to_ids(self._before)
        last = self._tokenizer.convert_tokens_to_ids(["</s>"])
        rows = []
        for text in texts:
            ids = self._tokenizer.encode(" ".join(text.split()), add_special_tokens=False)
            rows.append([*first, *ids[: length - len(first) - 1], *last])
        longest = max(map(len, rows))
        pad = self._tokenizer.pad_token_id
        ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        return self._pool(self.model(input_ids=ids, attention_mask=mask), mask)


def flat(model: nn.Module) -> Tensor:
    """Return a copy of all weights but keys' biases, whose gradients are nought but for rounding.

    Adam makes whole steps of these.
    """
    state = model.state_dict()
    names = [name for name in sorted(state) if not name.endswith("key.bias")]
    return torch.cat([state[name].flatten() for name in names])
