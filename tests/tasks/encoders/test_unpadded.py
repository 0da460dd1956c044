"""Laws of batches without padding; without a GPU its attention is computed text by text.

Covers `tasks.encoders._unpadded`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, MobileBertConfig, ModernBertConfig, PreTrainedConfig

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder
from tasks.encoders._unpadded import (
    can_be_unpadded,
    hidden_states,
    takes_attention,
    use_unpadded_attention,
)
from tests.fakes.checkpoints import make_checkpoint

TEXTS = ["def add(a, b): return a + b", "sort the list " * 30, "x", "", "read a json file"]
_SIZES: dict[str, Any] = {
    "vocab_size": 80, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 3,
    "num_attention_heads": 4,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "unpadded"),
    [
        ("minilm", True),
        ("codebert-base", True),
        ("codet5p", False),
        ("all-mpnet-base-v2", False),
        pytest.param("multilingual-e5-large", True, marks=pytest.mark.exhaustive),
        pytest.param("jina-embeddings-v3", True, marks=pytest.mark.exhaustive),
    ],
)
def test_vectors_without_padding_are_those_with_it(
    name: str, unpadded: bool, tmp_path: Path
) -> None:
    folder = make_checkpoint(name, tmp_path, encoders.get(name).spec.dimension)
    encoder = encoders.get(name)(folder)
    assert isinstance(encoder, TransformerEncoder)
    assert takes_attention(encoder._model) is unpadded
    assert can_be_unpadded(encoder._model, "bfloat16", torch.device("cuda")) is unpadded
    assert not can_be_unpadded(encoder._model, "float32", torch.device("cuda"))
    if unpadded:
        padded = encoder.encode(TEXTS, "code", 0)
        use_unpadded_attention(encoder._model)
        encoder._is_unpadded = True
        assert np.allclose(encoder.encode(TEXTS, "code", 0), padded, atol=1e-5)


@pytest.mark.parametrize(
    "config",
    [
        ModernBertConfig(**_SIZES, local_attention=16, pad_token_id=0),
        MobileBertConfig(**_SIZES, embedding_size=16, intra_bottleneck_size=16),
    ],
    ids=["windows", "trigrams"],
)
def test_a_model_that_sees_neighbours_by_other_means_than_attention_is_padded(
    config: PreTrainedConfig,
) -> None:
    model = AutoModel.from_config(config).eval()  # type: ignore[no-untyped-call]
    assert not can_be_unpadded(model, "bfloat16", torch.device("cuda"))
    token_ids = [list(range(5, 65)), list(range(7, 47))]
    with torch.inference_mode():
        alone = model(input_ids=torch.tensor(token_ids[1:])).last_hidden_state[0]
        use_unpadded_attention(model)
        joined = hidden_states(model, token_ids, torch.device("cpu"))[1, :40]
    assert not torch.allclose(joined, alone, atol=1e-3), "it could be computed without padding"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["minilm", "codebert-base"])
def test_vectors_on_a_gpu_are_near_those_of_float32(name: str, dtype: str, tmp_path: Path) -> None:
    folder = make_checkpoint(name, tmp_path, encoders.get(name).spec.dimension)
    exact, other = (
        encoders.get(one)(folder).encode(TEXTS, "code", 0) for one in (name, f"{name}@{dtype}")
    )
    assert np.sum(exact * other, axis=1).min() > 0.9995
