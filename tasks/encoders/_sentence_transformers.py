"""The files by which sentence-transformers describes a model (versions 2 to 6).

``modules.json`` names the steps: a transformer, pooling, dense layers, normalisation. The
transformer's limits, the pooling and the prompts are in files of their own.
"""

import json
from collections.abc import Mapping, Sequence
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
_LIMITS = (
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_xlnet_config.json",
)
_OFFSET = (
    "roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet",
    "longformer", "data2vec-text", "ibert", "xmod",
)  # fmt: skip


def read_modules(folder: Path) -> dict[str, Any]:
    """Return the fields of a `TransformerSpec` that a folder's files state.

    Raises:
        EncoderError: A file cannot be read, or describes a model that cannot be computed here.
    """
    modules = [(str(one["type"]).rpartition(".")[2], str(one["path"])) for one in _modules(folder)]
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
    limits = next(filter(None, (_read_if_there(folder / name) for name in _LIMITS)), {})
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
    """Return the number of tokens: as stated, else what tokenizer and positions allow, else 512.

    Of a model like RoBERTa, whose positions begin behind the padding's id, older releases of
    sentence-transformers state all positions: more tokens than it takes.
    """
    config = read(folder / "config.json")
    stated, positions = limits.get("max_seq_length"), config.get("max_position_embeddings")
    if config.get("model_type") not in _OFFSET:
        if isinstance(stated, int):
            return stated
    elif isinstance(positions, int):
        padding = config.get("pad_token_id")
        positions -= (padding if isinstance(padding, int) else 1) + 1
    if not isinstance(stated, int):
        stated = _read_if_there(folder / "tokenizer_config.json").get("model_max_length")
    allowed = (number for number in (stated, positions) if isinstance(number, int))
    return min((number for number in allowed if number < _NO_LIMIT), default=LONGEST)


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
    return {
        "query_prefix": _first(prompts, _QUERY_PROMPTS, default),
        "code_prefix": _first(prompts, _CODE_PROMPTS, default),
    }


def _first(prompts: Mapping[str, str], names: Sequence[str], default: str) -> str:
    return next((prompts[name] for name in names if prompts.get(name)), default)


def _modules(folder: Path) -> list[dict[str, Any]]:
    modules = _parsed(folder / MODULES)
    if not isinstance(modules, list) or not all(
        isinstance(one, dict) and {"type", "path"} <= one.keys() for one in modules
    ):
        raise EncoderError(f"{folder / MODULES} holds no list of modules with type and path")
    return modules


def read(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises:
        EncoderError: The file cannot be read, or holds something else.
    """
    content = _parsed(file)
    if not isinstance(content, dict):
        raise EncoderError(f"{file} holds no JSON object")
    return content


def _read_if_there(file: Path) -> dict[str, Any]:
    return read(file) if file.is_file() else {}


def _parsed(file: Path) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise EncoderError(f"{file} cannot be read: {error}") from None
