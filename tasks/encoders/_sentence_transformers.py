"""The files by which sentence-transformers describes a model (versions 2 to 6).

``modules.json`` names the steps: a transformer, pooling, dense layers, normalisation. The
transformer's limits, the pooling and the prompts are in files of their own.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.errors import EncoderError
from infra.links import leads_outside

MODULES = "modules.json"
_POOLINGS = {"mean": "mean", "cls": "first", "lasttoken": "last"}
_LEGACY = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
_CONFIG = "config_sentence_transformers.json"
_SIMILARITIES = {"dot": "product", "dot_product": "product"}
LONGEST = 512  # tokens, where no file says
_NO_LIMIT = 10**9  # tokens: a tokenizer that has no limit states 10^30
_QUERY_PROMPTS = ("query", "search_query")
_CODE_PROMPTS = ("code", "document", "passage", "corpus", "search_document")
_LIMITS = "sentence_bert_config.json"
_OFFSET = re.compile("roberta|camembert|mpnet|longformer|data2vec-text|ibert|xmod")


def read_modules(folder: Path) -> dict[str, Any]:
    """Return the fields of a `TransformerSpec` that a folder's files state.

    Raises:
        EncoderError: A file cannot be read, or describes a model that cannot be computed here.
    """
    try:
        modules = [
            (str(one["type"]).rpartition(".")[2], str(one["path"]))
            for one in read(folder / MODULES, list)
        ]
    except (KeyError, TypeError):
        raise EncoderError(f"{folder / MODULES}: a module has no type and path") from None
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
    transformer, pooling = (path for _, path in modules[:2])
    if transformer not in ("", "."):
        raise EncoderError(
            f"{folder / MODULES}: the transformer is in the subfolder {transformer}; save the "
            "model again with sentence-transformers 5 or later, which puts it into the folder"
        )
    limits = _read_if_there(folder / _LIMITS)
    mode, width = _pooling(folder / pooling / "config.json")
    projections = tuple(path for step, path in modules if step == "Dense")
    if projections:
        width = int(read(folder / projections[-1] / "config.json")["out_features"])
    return {
        "pooling": mode,
        "dimension": width,
        "projections": projections,
        "max_length": max_length(folder, limits),
        "lower_case": bool(limits.get("do_lower_case", False)),
        "special_tokens": "tokenizer",
        "similarity": stated_similarity(folder, is_unit="Normalize" in steps),
        **_prefixes(folder),
    }


def _pooling(file: Path) -> tuple[str, int]:
    """Return the pooling and the width of its vectors."""
    config = read(file)
    width = config.get("embedding_dimension", config.get("word_embedding_dimension"))
    mode = config.get("pooling_mode")
    if mode is None:
        mode = [name for key, name in _LEGACY.items() if config.get(key)]
    modes = [mode] if isinstance(mode, str) else mode
    if len(modes) != 1 or modes[0] not in _POOLINGS or not isinstance(width, int):
        raise EncoderError(
            f"{file} states the pooling {', '.join(map(str, modes)) or 'nothing'}; one of "
            f"{', '.join(_POOLINGS)} can be computed"
        )
    if config.get("include_prompt") is False:
        raise EncoderError(f"{file}: a pooling without the prompt's tokens cannot be computed")
    return _POOLINGS[modes[0]], width


def max_length(folder: Path, limits: Mapping[str, Any]) -> int:
    """Return the least number of tokens that limits, tokenizer and positions state, else 512.

    Of a model like RoBERTa, whose positions begin behind the padding's id, older releases of
    sentence-transformers state all positions: more tokens than it takes.
    """
    config = read(folder / "config.json")
    tokenizer = _read_if_there(folder / "tokenizer_config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and _OFFSET.search(str(config.get("model_type"))):
        padding = config.get("pad_token_id")
        positions -= (padding if isinstance(padding, int) else 1) + 1
    stated = limits.get("max_seq_length"), tokenizer.get("model_max_length"), positions
    numbers = (number for number in stated if isinstance(number, int) and number < _NO_LIMIT)
    return min(numbers, default=LONGEST)


def stated_similarity(folder: Path, *, is_unit: bool = False) -> str:
    """Return the similarity that a folder states for its model; the cosine where it states none.

    Args:
        folder: The folder.
        is_unit: The vectors have unit length, so that their product is the cosine.
    """
    stated = str(_read_if_there(folder / _CONFIG).get("similarity_fn_name") or "cosine")
    similarity = _SIMILARITIES.get(stated, stated)
    return "cosine" if is_unit and similarity == "product" else similarity


def _prefixes(folder: Path) -> dict[str, str]:
    """Return the prompts for queries and codes, or the default prompt for both."""
    config = _read_if_there(folder / _CONFIG)
    prompts: Mapping[str, str] = config.get("prompts") or {}
    default = prompts.get(config.get("default_prompt_name") or "", "")
    named = {"query_prefix": _QUERY_PROMPTS, "code_prefix": _CODE_PROMPTS}
    return {
        field: next((prompts[name] for name in names if prompts.get(name)), default)
        for field, names in named.items()
    }


def read(file: Path, kind: type = dict) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON object, or list, in a file.

    Raises:
        EncoderError: The file cannot be read, or its content is of another kind.
    """
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise EncoderError(f"{file} cannot be read: {error}") from None
    if not isinstance(content, kind):
        raise EncoderError(f"{file} contains no JSON {'object' if kind is dict else 'list'}")
    return content


def _read_if_there(file: Path) -> dict[str, Any]:
    return read(file) if file.is_file() else {}
