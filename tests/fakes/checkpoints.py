"""Small checkpoints with random weights, of the same architectures as the real ones.

An encoder that is not listed gets a BERT, which most models over `AutoModel` can stand in for.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    JinaEmbeddingsV3Config,
    JinaEmbeddingsV3Model,
    MPNetConfig,
    MPNetModel,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5EncoderModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

TEXT = ["def add(a, b): return a + b", "read a json file", "sort the list by length"] * 5


def make_checkpoint(encoder: str, folder: Path, dimension: int) -> Path:
    """Write a checkpoint for an encoder and return its folder."""
    torch.manual_seed(0)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "<s>", "</s>", "<encoder-only>"]
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    tokenizer.train_from_iterator(
        TEXT, trainers.BpeTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    )
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(folder)
    model = _MODELS.get(encoder, _bert)(dimension)
    model.save_pretrained(folder)
    for adapter in _ADAPTERS.get(encoder, ()):
        _add_adapter(folder / adapter, _MODELS[encoder](dimension))
    return folder


_SIZES: dict[str, Any] = {"vocab_size": 300, "num_hidden_layers": 2, "num_attention_heads": 4}


def _with(
    config: Callable[..., PreTrainedConfig], model: type[PreTrainedModel], **more: int
) -> Callable[[int], PreTrainedModel]:
    """Return what makes a model of a dimension."""
    sizes: dict[str, Any] = {**_SIZES, "intermediate_size": 32, "pad_token_id": 0, **more}
    return lambda dimension: model(config(hidden_size=dimension, **sizes))


def _t5(dimension: int) -> T5EncoderModel:
    config = T5Config(vocab_size=300, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    config.embed_dim = dimension
    model = T5EncoderModel(config)
    model.proj = nn.Linear(config.d_model, dimension)
    return model


def _add_adapter(folder: Path, model: PreTrainedModel) -> None:
    """Write a LoRA adapter with random weights into a folder."""
    from peft import LoraConfig  # noqa: PLC0415 - seconds, which each runner would spend

    config = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    model.add_adapter(config)
    model.save_pretrained(folder)


_bert = _with(BertConfig, BertModel)
_roberta = _with(RobertaConfig, RobertaModel, max_position_embeddings=514)
_xlm_roberta = _with(XLMRobertaConfig, XLMRobertaModel, max_position_embeddings=514)
_mpnet = _with(MPNetConfig, MPNetModel, max_position_embeddings=514)
_jina = _with(JinaEmbeddingsV3Config, JinaEmbeddingsV3Model, max_position_embeddings=8194)
_MODELS: dict[str, Callable[[int], PreTrainedModel]] = {
    "codebert-base": _roberta,
    "codebert-search": _roberta,
    "codexglue": _roberta,
    "graphcodebert": _roberta,
    "roberta-base": _roberta,
    "unixcoder": _roberta,
    "unixcoder-collapsed": _roberta,
    "codet5p": _t5,
    "codet5p-collapsed": _t5,
    "e5-without-prefixes": _xlm_roberta,
    "multilingual-e5-large": _xlm_roberta,
    "all-mpnet-base-v2": _mpnet,
    "jina-embeddings-v3": _jina,
}
_ADAPTERS = {"jina-embeddings-v3": ("retrieval_query", "retrieval_passage")}
