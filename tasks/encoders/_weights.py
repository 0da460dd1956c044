"""Loading of weights: models and adapters of a checkpoint.

Everything is computed in single precision, whatever the files hold. Weights come from safetensors,
or from a pickle that torch reads with ``weights_only``, so that no code of a checkpoint runs. A
stranger's configuration may claim any size: a model is made only if its files hold so much.
"""

import json
import re
import warnings
from collections.abc import Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding, T5Config, T5EncoderModel
from transformers.utils import logging as messages
from transformers.utils.hub import cached_file

from infra.errors import EncoderError

_CODEXGLUE = "model.bin"  # written by CodeXGLUE's training beside the base's other files
_ENCODERS_ALONE = ("t5", "mt5", "umt5")  # models whose decoder says nothing of the text
_OF_WEIGHTS = (".safetensors", ".bin")
_COUNTS = re.compile(r"(layers?|experts?|blocks?|stages?|depths?|labels)$")  # of modules, by a key
_MOST_OF_ONE, _MOST_MODULES = 1_000, 100_000


class _CodeT5PlusEncoder(T5EncoderModel):  # type: ignore[no-untyped-call]
    """T5's encoder with the projection ``proj``, as the checkpoint's own Python code has it."""

    def __init__(self, config: T5Config) -> None:
        super().__init__(config)
        self.proj = nn.Linear(config.d_model, config.embed_dim)


def load_model(architecture: str, source: dict[str, Any], needs_pooler: bool) -> Any:  # noqa: ANN401
    """Return a model with all its weights; what the checkpoint lacks would be random numbers."""
    messages.disable_progress_bar()  # type: ignore[no-untyped-call]
    factory: Any
    make: Any
    if architecture == "codet5p":
        factory = make = _CodeT5PlusEncoder
        config = T5Config.from_pretrained(**source)
    else:
        # A decoder's keys and values are of no use here, and with them OpenVINO converts none.
        config = AutoConfig.from_pretrained(**source, use_cache=False)
        factory = AutoModelForTextEncoding if config.model_type in _ENCODERS_ALONE else AutoModel
        make = partial(factory.from_config, trust_remote_code=False)
    with torch.device("meta"):
        empty = make(config)
    _check_size(empty, Path(source["pretrained_model_name_or_path"]))
    file = Path(source["pretrained_model_name_or_path"]) / _CODEXGLUE
    weights = torch.load(file, map_location="cpu", weights_only=True) if file.is_file() else {}
    # In that file the model is the attribute ``encoder`` of another.
    if named := {name.removeprefix("encoder."): rows for name, rows in weights.items()}:
        model = make(config).float()
        lacking = model.load_state_dict(named, strict=False).missing_keys
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


def _check_size(model: nn.Module, folder: Path) -> None:
    """Check that a model of a folder has no more numbers than the files of weights have bytes."""
    numbers = sum(one.numel() for one in (*model.parameters(), *model.buffers()))
    sizes = [file.stat().st_size for file in folder.glob("*") if file.suffix in _OF_WEIGHTS]
    if folder.is_dir() and numbers > sum(sizes):
        raise EncoderError(
            f"{folder}: config.json claims {numbers:,} weights, more than its files can hold"
        )


def load_adapters(model: Any, source: dict[str, Any], adapters: Sequence[str]) -> None:  # noqa: ANN401
    """Load LoRA adapters from folders of a checkpoint, each under its folder's name.

    An adapter must be LoRA's own kind, with ranks no larger than its weights allow.
    """
    for adapter in adapters:
        # The second one is reported to lack the first one's weights.
        messages.set_verbosity_error()  # type: ignore[no-untyped-call]
        config = json.loads(_file(source, f"{adapter}/adapter_config.json").read_text("utf-8"))
        pattern = config.get("rank_pattern") or {}
        ranks = [config.get("r"), *(pattern.values() if isinstance(pattern, dict) else [None])]
        with safe_open(_file(source, f"{adapter}/adapter_model.safetensors"), "pt") as file:
            sizes = [min(file.get_slice(name).get_shape(), default=0) for name in file.keys()]  # noqa: SIM118
        most = max(sizes, default=0)
        if (
            config.get("peft_type") != "LORA"
            or config.get("layer_replication")
            or config.get("megatron_config")
            or any(type(rank) is not int or not 0 < rank <= most for rank in ranks)
        ):
            raise EncoderError(
                f"the adapter {adapter} is not read: its adapter_config.json must have peft_type "
                f"LORA, ranks up to {most}, as its weights have, and no layer_replication or "
                "megatron_config"
            )
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


def _file(source: dict[str, Any], name: str) -> Path:
    place = source["pretrained_model_name_or_path"]
    return Path(str(cached_file(place, name, revision=source.get("revision"))))
