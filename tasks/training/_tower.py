"""A model of this project as a module of sentence-transformers."""

from collections.abc import Sequence
from typing import Any

import torch
from sentence_transformers.base.modules import InputModule

from infra.subsets import batched
from tasks.encoders import Kind
from tasks.training.joint import JointModel

_SMALLEST_PART, _MOST_PARTS = 16, 32  # texts of a part, parts of a batch
_KINDS: dict[str, Kind] = {"query": "query", "code": "code", "document": "code"}  # by task


class Tower(InputModule):
    """A joint model as the one module of a SentenceTransformer.

    The texts of a batch are computed in parts of similar length, so that little is padded.
    """

    def __init__(self, model: JointModel) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.model = model

    def preprocess(
        self,
        inputs: Sequence[Any],
        prompt: str | None = None,  # noqa: ARG002 - specifications have prefixes
        **more: Any,  # noqa: ANN401 - the library's
    ) -> dict[str, Any]:
        kind = _KINDS[more["task"]]
        order = sorted(range(len(inputs)), key=lambda row: len(inputs[row]))
        at_once = max(_SMALLEST_PART, -(-len(order) // _MOST_PARTS))
        parts = [
            self.model.features([inputs[row] for row in rows], kind)
            for rows in batched(order, at_once)
        ]
        # The trainer finds each column's features by this name.
        return {"input_ids": torch.tensor(order), "parts": parts, "kind": kind}

    def forward(self, features: dict[str, Any], **_: object) -> dict[str, Any]:
        order = features["input_ids"]
        vectors = [
            # The library moves tensors to the device, but none within a list.
            self.model(
                {name: each.to(order.device) for name, each in part.items()}, features["kind"]
            )
            for part in features["parts"]
        ]
        return {"sentence_embedding": torch.cat(vectors)[order.argsort()]}

    def save(self, output_path: str, *_: object, **__: object) -> None:
        raise NotImplementedError(output_path)  # the trainer saves the weights alone
