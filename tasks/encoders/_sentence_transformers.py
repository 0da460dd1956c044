"""The files by which sentence-transformers describes a model (versions 2 to 6).

``modules.json`` names the steps: a transformer, pooling, dense layers, normalisation. The
transformer's limits, the pooling and the prompts are in files of their own.
"""

import json
import re
from pathlib import Path
from typing import Any

from infra.errors import EncoderError
from infra.links import leads_outside

MODULES = "modules.json"
_CONFIG = "config_sentence_transformers.json"
_LIMITS = "sentence_bert_config.json"
_POOLINGS = {"mean": "mean", "cls": "first", "lasttoken": "last"}
_POOLING_FLAG = re.compile(r"pooling_mode_(.+?)(_tokens?)?")  # of releases before 6
_SIMILARITIES = {"dot": "product", "dot_product": "product"}
_QUERY_PROMPTS = ("query", "search_query")
_CODE_PROMPTS = ("code", "document", "passage", "corpus", "search_document")
_DEFAULT_LENGTH = 512  # tokens, where no file states a limit
_NO_LIMIT = 10**9  # tokens: a tokenizer that has no limit states 10^30
_OFFSET = re.compile("roberta|camembert|mpnet|longformer|data2vec-text|ibert|xmod")


def read_modules(folder: Path) -> dict[str, Any]:
    """Return the fields of a `TransformerSpec` that a folder's files state.

    Raises:
        EncoderError: A file cannot be read, or describes a model that cannot be computed here.
        AttributeError, KeyError, TypeError: A file has JSON of another shape.
    """
    modules = [
        (str(module["type"]).rpartition(".")[2], str(module["path"]))
        for module in _read(folder / MODULES)
    ]
    steps = [step for step, _ in modules]
    for _, path in modules:
        if leads_outside(folder / path, folder):
            raise EncoderError(f"{folder / MODULES}: {path} leads outside of the folder")
    kinds = {"Transformer", "Pooling", "Dense", "Normalize"}
    if steps[:2] != ["Transformer", "Pooling"] or not kinds.issuperset(steps):
        raise EncoderError(
            f"{folder / MODULES} has the modules {', '.join(steps)}; a transformer, then a pooling "
            "and dense layers can be computed"
        )
    if modules[0][1] not in ("", "."):
        raise EncoderError(
            f"{folder / MODULES}: the transformer is in the subfolder {modules[0][1]}; save the "
            "model again with sentence-transformers 5 or later, which puts it into the folder"
        )
    pooling, dimension = _pooling(folder / modules[1][1] / "config.json")
    projections = tuple(path for step, path in modules if step == "Dense")
    if projections:
        dimension = _read(folder / projections[-1] / "config.json").get("out_features")
    limits = _read_if_there(folder / _LIMITS)
    similarity = _similarity(folder)
    is_unit = "Normalize" in steps  # then the product is the cosine
    return {
        "pooling": pooling,
        "dimension": dimension,
        "projections": projections,
        "max_length": max_length(folder, limits.get("max_seq_length")),
        "lower_case": bool(limits.get("do_lower_case", False)),
        "special_tokens": "tokenizer",
        "similarity": "cosine" if is_unit and similarity == "product" else similarity,
        **_prefixes(folder),
    }


def plain_fields(folder: Path) -> dict[str, Any]:
    """Return the fields of a `TransformerSpec` that a folder of transformers alone states."""
    config = _read(folder / "config.json")
    return {
        "dimension": config.get("hidden_size") or config.get("d_model") or config.get("dim"),
        "max_length": min(_DEFAULT_LENGTH, max_length(folder)),
        "special_tokens": "tokenizer",
        "similarity": _similarity(folder),
    }


def max_length(folder: Path, stated: object = None) -> int:
    """Return the least number of tokens that files state, else 512.

    Of a model like RoBERTa, whose positions begin behind the padding's id, older releases of
    sentence-transformers state all positions: more tokens than it takes.

    Args:
        folder: With ``config.json``.
        stated: What sentence-transformers states.
    """
    config = _read(folder / "config.json")
    tokenizer = _read_if_there(folder / "tokenizer_config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and _OFFSET.search(str(config.get("model_type"))):
        padding = config.get("pad_token_id")
        positions -= (padding if isinstance(padding, int) else 1) + 1
    limits = stated, tokenizer.get("model_max_length"), positions
    numbers = (limit for limit in limits if isinstance(limit, int) and limit < _NO_LIMIT)
    return min(numbers, default=_DEFAULT_LENGTH)


def _pooling(file: Path) -> tuple[str, object]:
    """Return the pooling and the stated width of its vectors."""
    config = _read(file)
    mode = config.get("pooling_mode")
    if mode is None:
        flags = [_POOLING_FLAG.fullmatch(key) for key, value in config.items() if value is True]
        mode = [flag[1] for flag in flags if flag]
    if isinstance(mode, list) and len(mode) == 1:
        mode = mode[0]
    if not isinstance(mode, str) or mode not in _POOLINGS:
        raise EncoderError(
            f"{file} states the pooling {mode}; one of {', '.join(_POOLINGS)} can be computed"
        )
    if config.get("include_prompt") is False:
        raise EncoderError(f"{file}: a pooling without the prompt's tokens cannot be computed")
    width = config.get("embedding_dimension", config.get("word_embedding_dimension"))
    return _POOLINGS[mode], width


def _similarity(folder: Path) -> str:
    """Return the similarity that a folder states for its model; the cosine where it states none."""
    stated = str(_read_if_there(folder / _CONFIG).get("similarity_fn_name") or "cosine")
    return _SIMILARITIES.get(stated, stated)


def _prefixes(folder: Path) -> dict[str, str]:
    """Return the prompts for queries and codes, or the default prompt for both."""
    config = _read_if_there(folder / _CONFIG)
    prompts = config.get("prompts") or {}
    default = prompts.get(config.get("default_prompt_name") or "", "")
    named = {"query_prefix": _QUERY_PROMPTS, "code_prefix": _CODE_PROMPTS}
    return {
        field: next((prompts[name] for name in names if prompts.get(name)), default)
        for field, names in named.items()
    }


def _read(file: Path) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise EncoderError(f"{file} cannot be read: {error}") from None


def _read_if_there(file: Path) -> Any:  # noqa: ANN401 - JSON
    return _read(file) if file.is_file() else {}
