"""Transformers over the texts of a batch in one row, without padding.

torch's `varlen_attn` computes each text's attention on a GPU in half precision; elsewhere torch's
usual attention does, text by text, which gives the same and is slower than padding.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch

from tasks.encoders._layers import HALF

_NAME = "cosqa_unpadded"  # in transformers' table of attentions


def can_be_unpadded(model: Any, dtype: str, device: torch.device) -> bool:  # noqa: ANN401 - of transformers
    """Return whether a model is computed without padding: on a GPU, in half precision.

    It needs a model of which positions and attention can be given.
    """
    return device.type == "cuda" and dtype in HALF and takes_attention(model)


def takes_attention(model: Any) -> bool:  # noqa: ANN401
    """Return whether a model takes another attention, and positions from the caller.

    One that sees a text's neighbours in a row by other means does not: ModernBERT attends within
    windows that the mask draws, and MobileBERT joins the embeddings of neighbouring tokens.
    """
    has_windows = any(getattr(module, "sliding_window", None) for module in model.modules())
    joins_tokens = bool(getattr(model.config, "trigram_input", False))
    return (
        bool(getattr(model, "_supports_attention_backend", False))
        and hasattr(model, "embeddings")
        and not (has_windows or joins_tokens)
    )


def use_unpadded_attention(model: Any) -> None:  # noqa: ANN401
    """Make a model attend within the texts of a row."""
    from transformers import AttentionInterface, AttentionMaskInterface  # noqa: PLC0415

    AttentionInterface.register(_NAME, _attend)
    AttentionMaskInterface.register(_NAME, _no_mask)
    model.set_attn_implementation(_NAME)


def hidden_states(
    model: Any,  # noqa: ANN401
    token_ids: Sequence[Sequence[int]],
    device: torch.device,
) -> torch.Tensor:
    """Return (texts, longest, width) hidden states, zero where a text is shorter.

    Args:
        model: Of which `use_unpadded_attention` was called.
        token_ids: A batch.
        device: Where the model is.
    """
    lengths = torch.tensor([len(ids) for ids in token_ids])
    ends = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).int()
    ids = torch.tensor([[one for text in token_ids for one in text]])
    positions = torch.cat([torch.arange(len(text)) for text in token_ids])[None]
    output = model(
        input_ids=ids.to(device),
        position_ids=(positions + _first_position(model)).to(device),
        cu_seq_lens_q=ends.to(device),
        max_length_q=int(lengths.max()),
    )
    flat = output.last_hidden_state[0]
    mask = (torch.arange(int(lengths.max())) < lengths[:, None]).to(device)
    padded: torch.Tensor = flat.new_zeros(*mask.shape, flat.shape[1])
    padded[mask] = flat
    return padded


def _first_position(model: Any) -> int:  # noqa: ANN401
    """Return the number of the first position: RoBERTa counts from behind its padding's id."""
    embeddings = model.embeddings
    counts = hasattr(embeddings, "create_position_ids_from_input_ids")
    return int(embeddings.padding_idx) + 1 if counts else 0


def _attend(  # noqa: PLR0913 - transformers' own interface
    module: Any,  # noqa: ANN401, ARG001
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,  # noqa: ARG001
    *,
    scaling: float | None = None,
    cu_seq_lens_q: torch.Tensor,
    max_length_q: int,
    **_: Any,  # noqa: ANN401
) -> tuple[torch.Tensor, None]:
    """Return ((1, tokens, heads, d) attention, no weights) from (1, heads, tokens, d) inputs."""
    query, key = query.to(value.dtype), key.to(value.dtype)
    if query.is_cuda and value.dtype in HALF.values():
        from torch.nn.attention.varlen import varlen_attn  # noqa: PLC0415

        query, key, value = (states[0].transpose(0, 1) for states in (query, key, value))
        attended: Any = varlen_attn(
            query.contiguous(), key.contiguous(), value.contiguous(), cu_seq_lens_q, cu_seq_lens_q,
            max_length_q, max_length_q, scale=scaling,
        )  # fmt: skip
        return attended[None], None
    parts = [
        torch.nn.functional.scaled_dot_product_attention(
            query[:, :, start:end], key[:, :, start:end], value[:, :, start:end], scale=scaling
        )
        for start, end in pairwise(cu_seq_lens_q.tolist())
    ]
    return torch.cat(parts, dim=2).transpose(1, 2), None


def _no_mask(*_: Any, **__: Any) -> None:  # noqa: ANN401
    """Return no mask: texts are told apart by their lengths."""
