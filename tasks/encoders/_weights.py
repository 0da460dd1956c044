"""Loading of weights: models, adapters and dense layers of a checkpoint.

Everything is computed in single precision, whatever the files hold. Weights come from safetensors,
or from a pickle that torch reads with ``weights_only``, so that no code of a checkpoint runs.
"""

import json
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infra.errors import EncoderError

CODEXGLUE = "model.bin"  # the weights that CodeXGLUE's loops save, and nothing beside them
_WRAPPED = "encoder."  # before each name there: the model is an attribute of another
_ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "SiLU", "Sigmoid")


def load_model(
    factory: Any,  # noqa: ANN401 - a class of transformers
    source: dict[str, Any],
    *,
    needs_pooler: bool = False,
    **options: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return a model with all its weights; what the checkpoint lacks would be random numbers.

    Args:
        factory: The class of the model.
        source: Folder or hub's id, and revision.
        needs_pooler: Whether the pooler is used.
        options: Further arguments of ``from_pretrained``.

    Raises:
        EncoderError: The checkpoint lacks weights that the vectors depend on.
    """
    import torch  # noqa: PLC0415 - heavy libraries load when used
    from transformers import AutoConfig  # noqa: PLC0415
    from transformers.utils import logging as messages  # noqa: PLC0415

    messages.disable_progress_bar()  # type: ignore[no-untyped-call]
    if weights := _codexglue_weights(source):
        config = options.get("config") or AutoConfig.from_pretrained(**source)
        model = _empty(factory, config)
        lacking = model.load_state_dict(weights, strict=False).missing_keys
    else:
        model, loading = factory.from_pretrained(
            output_loading_info=True, dtype=torch.float32, weights_only=True, **options, **source
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


def _codexglue_weights(source: dict[str, Any]) -> dict[str, Any]:
    """Return the weights in a folder's `CODEXGLUE` file by the model's own names, else nothing."""
    import torch  # noqa: PLC0415

    folder = Path(source["pretrained_model_name_or_path"])
    if not (folder / CODEXGLUE).is_file() or any(folder.glob("*.safetensors*")):
        return {}
    weights = torch.load(folder / CODEXGLUE, map_location="cpu", weights_only=True)
    wrapped = all(name.startswith(_WRAPPED) for name in weights)
    return {name.removeprefix(_WRAPPED) if wrapped else name: weights[name] for name in weights}


def _empty(factory: Any, config: Any) -> Any:  # noqa: ANN401
    """Return a model with random weights, in single precision."""
    if hasattr(factory, "from_config"):
        return factory.from_config(config, trust_remote_code=False, dtype="float32")
    return factory(config)


def load_adapters(model: Any, source: dict[str, Any], adapters: Sequence[str]) -> None:  # noqa: ANN401
    """Load LoRA adapters from folders of a checkpoint, each under its folder's name.

    Raises:
        EncoderError: An adapter does not fit the model.
    """
    from transformers.utils import logging as messages  # noqa: PLC0415

    origin = {"revision": source["revision"]} if "revision" in source else {}
    verbosity = messages.get_verbosity()
    # The second one is reported to lack the first one's weights.
    messages.set_verbosity(logging.ERROR)
    try:
        for adapter in adapters:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that the model has another adapter
                loading = model.load_adapter(
                    source["pretrained_model_name_or_path"],
                    adapter_name=adapter,
                    adapter_kwargs={"subfolder": adapter, **origin},
                )
            own = [name for name in loading.missing_keys if f".{adapter}" in name]
            if own or loading.unexpected_keys:
                raise EncoderError(f"the adapter {adapter} is of another model than the checkpoint")
    finally:
        messages.set_verbosity(verbosity)


def load_projections(source: dict[str, Any], folders: Sequence[str]) -> Any:  # noqa: ANN401
    """Return the dense layers in folders of a checkpoint, one after the other.

    Raises:
        EncoderError: A layer has an activation that is not known, or no safetensors.
    """
    from safetensors.torch import load_file  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    layers = nn.Sequential()
    for folder in folders:
        config = json.loads(_file(source, f"{folder}/config.json").read_text("utf-8"))
        activation = str(config["activation_function"]).rpartition(".")[2]
        if activation not in _ACTIVATIONS:
            raise EncoderError(
                f"the dense layer {folder} has the activation {activation}; known are "
                f"{', '.join(_ACTIVATIONS)}"
            )
        linear = nn.Linear(config["in_features"], config["out_features"], bias=config["bias"])
        weights = load_file(_file(source, f"{folder}/model.safetensors"))
        linear.load_state_dict({name.rpartition(".")[2]: rows for name, rows in weights.items()})
        layers.extend([linear, getattr(nn, activation)()])
    return layers.float()


def _file(source: dict[str, Any], name: str) -> Path:
    from transformers.utils.hub import cached_file  # noqa: PLC0415

    place = source["pretrained_model_name_or_path"]
    return Path(str(cached_file(place, name, revision=source.get("revision"))))
