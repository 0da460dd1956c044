"""Loading of weights: models, adapters and dense layers of a checkpoint.

Everything is computed in single precision, whatever the files hold. Weights come from safetensors,
or from a pickle that torch reads with ``weights_only``, so that no code of a checkpoint runs. A
stranger's configuration may claim any size: a model is made only if its files hold so much.
"""

import json
import re
import warnings
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForTextEncoding,
    T5Config,
    T5EncoderModel,
)
from transformers.utils import logging as messages
from transformers.utils.hub import cached_file

from infra.errors import EncoderError
from infra.machine import physical_memory

_CODEXGLUE = "model.bin"  # the weights that CodeXGLUE's loops save
_ENCODERS_ALONE = ("t5", "mt5", "umt5")  # models whose decoder says nothing of the text
_OF_WEIGHTS = (".safetensors", ".bin")
_COUNTS = re.compile(r"(layers?|experts?|blocks?|stages?|depths?|labels)$")  # of modules, by a key
_MOST_OF_ONE, _MOST_MODULES = 1_000, 100_000
_ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "SiLU", "Sigmoid")


def check_counts(source: dict[str, Any]) -> None:
    """Check how many layers a configuration claims, before a library makes as many."""
    counts = [1]

    def note(pairs: list[tuple[str, Any]]) -> None:
        for key, value in pairs:
            if _COUNTS.search(key):
                numbers = value if isinstance(value, list) else [value]
                counts.extend(one for one in numbers if isinstance(one, int) and one > 1)

    json.loads(_file(source, "config.json").read_text("utf-8"), object_pairs_hook=note)
    if max(counts) > _MOST_OF_ONE or prod(counts) > _MOST_MODULES:
        raise EncoderError(
            f"{source['pretrained_model_name_or_path']}: config.json claims {max(counts):,} layers "
            "or other parts of one kind: no such model is loaded"
        )


def _check_size(factory: Any, config: Any, source: dict[str, Any]) -> None:  # noqa: ANN401
    """Check that a model has no more numbers than its files have bytes, and fits the memory."""
    with torch.device("meta"):
        model = _empty(factory, config)
    numbers = sum(one.numel() for one in (*model.parameters(), *model.buffers()))
    folder = Path(source["pretrained_model_name_or_path"])
    sizes = [file.stat().st_size for file in folder.glob("*") if file.suffix in _OF_WEIGHTS]
    most = sum(sizes) if folder.is_dir() else physical_memory() // 4
    if numbers > most:
        raise EncoderError(
            f"{folder}: config.json claims {numbers:,} weights, more than its files or this "
            "machine can hold: it is of another model"
        )


def load_model(architecture: str, source: dict[str, Any], needs_pooler: bool) -> Any:  # noqa: ANN401
    """Return a model with all its weights; what the checkpoint lacks would be random numbers.

    Args:
        architecture: That of the specification.
        source: Folder or hub's id, and revision.
        needs_pooler: Whether the pooler is used.
    """
    messages.disable_progress_bar()  # type: ignore[no-untyped-call]
    factory, config = _class_and_config(architecture, source)
    _check_size(factory, config, source)
    if weights := _codexglue_weights(source):
        model = _empty(factory, config)
        lacking = model.load_state_dict(weights, strict=False).missing_keys
    else:
        model, loading = factory.from_pretrained(
            output_loading_info=True,
            dtype=torch.float32,
            weights_only=True,
            config=config,
            **source,
        )
        lacking = loading["missing_keys"]
    missing = sorted(name for name in lacking if needs_pooler or "pooler." not in name)
    if missing:
        raise EncoderError(
            f"{source['pretrained_model_name_or_path']} lacks {len(missing)} weights that the "
            f"vectors depend on ({', '.join(missing[:3])}): it is a checkpoint of another model, "
            "or another pooling is meant"
        )
    return model


class _CodeT5PlusEncoder(T5EncoderModel):  # type: ignore[no-untyped-call]
    """T5's encoder with the projection ``proj``, as the checkpoint's own Python code has it."""

    def __init__(self, config: T5Config) -> None:
        super().__init__(config)
        self.proj = nn.Linear(config.d_model, config.embed_dim)


def _class_and_config(architecture: str, source: dict[str, Any]) -> tuple[Any, Any]:
    """Return the class of a checkpoint's model, and its configuration."""
    if architecture == "codet5p":
        return _CodeT5PlusEncoder, T5Config.from_pretrained(**source)
    config = AutoConfig.from_pretrained(**source)
    is_encoder_alone = config.model_type in _ENCODERS_ALONE
    return (AutoModelForTextEncoding if is_encoder_alone else AutoModel), config


def _codexglue_weights(source: dict[str, Any]) -> dict[str, Any]:
    """Return the weights in a folder's `_CODEXGLUE` file by the model's own names, else nothing.

    There the model is the attribute ``encoder`` of another.
    """
    folder = Path(source["pretrained_model_name_or_path"])
    if not (folder / _CODEXGLUE).is_file() or any(folder.glob("*.safetensors*")):
        return {}
    weights = torch.load(folder / _CODEXGLUE, map_location="cpu", weights_only=True)
    return {name.removeprefix("encoder."): rows for name, rows in weights.items()}


def _empty(factory: Any, config: Any) -> Any:  # noqa: ANN401
    """Return a model with random weights, in single precision."""
    if hasattr(factory, "from_config"):
        return factory.from_config(config, trust_remote_code=False, dtype="float32")
    return factory(config)


def load_adapters(model: Any, source: dict[str, Any], adapters: Sequence[str]) -> None:  # noqa: ANN401
    """Load LoRA adapters from folders of a checkpoint, each under its folder's name."""
    if adapters:
        # The second one is reported to lack the first one's weights.
        messages.set_verbosity_error()  # type: ignore[no-untyped-call]
    for adapter in adapters:
        _check_adapter(source, adapter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the model has another adapter
            loading = model.load_adapter(
                source["pretrained_model_name_or_path"],
                adapter_name=adapter,
                adapter_kwargs={"subfolder": adapter, "revision": source.get("revision")},
            )
        own = [name for name in loading.missing_keys if f".{adapter}" in name]
        if own or loading.unexpected_keys:
            raise EncoderError(f"the adapter {adapter} is of another model than the checkpoint")


def _check_adapter(source: dict[str, Any], adapter: str) -> None:
    """Check that an adapter is LoRA's own kind, with ranks no larger than its weights allow."""
    config = json.loads(_file(source, f"{adapter}/adapter_config.json").read_text("utf-8"))
    pattern = config.get("rank_pattern") or {}
    ranks = [config.get("r"), *(pattern.values() if isinstance(pattern, dict) else [None])]
    others = [name for name in ("layer_replication", "megatron_config") if config.get(name)]
    with safe_open(_file(source, f"{adapter}/adapter_model.safetensors"), "pt") as file:
        sizes = [min(file.get_slice(name).get_shape(), default=0) for name in file.keys()]  # noqa: SIM118
    most = max(sizes, default=0)
    if (
        config.get("peft_type") != "LORA"
        or others
        or any(type(rank) is not int or not 0 < rank <= most for rank in ranks)
    ):
        raise EncoderError(
            f"the adapter {adapter} is not read: its adapter_config.json must have peft_type LORA, "
            f"ranks up to {most}, as its weights have, and no layer_replication or megatron_config"
        )


def load_projections(source: dict[str, Any], folders: Sequence[str]) -> Any:  # noqa: ANN401
    """Return the dense layers in folders of a checkpoint, one after the other."""
    layers = nn.Sequential()
    for folder in folders:
        config = json.loads(_file(source, f"{folder}/config.json").read_text("utf-8"))
        activation = str(config["activation_function"]).rpartition(".")[2]
        if activation not in _ACTIVATIONS:
            raise EncoderError(
                f"the dense layer {folder} has the activation {activation}; known are "
                f"{', '.join(_ACTIVATIONS)}"
            )
        with torch.device("meta"):
            linear = nn.Linear(config["in_features"], config["out_features"], bias=config["bias"])
        weights = load_file(_file(source, f"{folder}/model.safetensors"))
        named = {name.rpartition(".")[2]: rows for name, rows in weights.items()}
        linear.load_state_dict(named, assign=True)
        layers.extend([linear, getattr(nn, activation)()])
    return layers.float()


def _file(source: dict[str, Any], name: str) -> Path:
    place = source["pretrained_model_name_or_path"]
    return Path(str(cached_file(place, name, revision=source.get("revision"))))
