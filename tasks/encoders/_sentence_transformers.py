"""The files by which sentence-transformers describes a model (versions 2 to 6).

``modules.json`` names the steps: a transformer, pooling, normalisation. The transformer's limits,
the pooling and the prompts are in files of their own.
"""

import json
import re
from pathlib import Path
from typing import Any

from infra.errors import EncoderError
from infra.files import leads_outside

MODULES = "modules.json"
_CONFIG = "config_sentence_transformers.json"
_STEPS = ["Transformer", "Pooling", "Normalize"]
_POOLINGS = {"mean": "mean", "cls": "first", "lasttoken": "last"}
_POOLING_FLAG = re.compile(r"pooling_mode_(.+?)(_tokens?)?")  # of releases before 6
_SIMILARITIES = {"dot": "product", "dot_product": "product"}
_PROMPTS = {  # names, the first of which counts
    "query_prefix": ("query", "search_query"),
    "code_prefix": ("code", "document", "passage", "corpus", "search_document"),
}
_DEFAULT_LENGTH = 512  # tokens, where no file states a limit
_OFFSET = re.compile("roberta|camembert|mpnet|longformer|data2vec-text|ibert|xmod")


def read_modules(folder: Path) -> dict[str, Any]:
    """Return the fields of a `TransformerSpec` that a folder's files state.

    Raises:
        EncoderError: A file cannot be read, or describes a model that cannot be computed here.
        AttributeError, KeyError, TypeError: A file has JSON of another shape.
    """
    modules = _read(folder / MODULES)
    steps = [str(module["type"]).rpartition(".")[2] for module in modules]
    if steps not in (_STEPS, _STEPS[:2]) or modules[0]["path"] not in ("", "."):
        raise EncoderError(
            f"{folder / MODULES} has the modules {', '.join(steps)}; a transformer in the folder "
            "itself, then its pooling and normalisation, can be computed"
        )
    file = folder / str(modules[1]["path"]) / "config.json"
    if leads_outside(file, folder):
        raise EncoderError(f"{folder / MODULES}: {file} is outside of the folder")
    config, limits = _read(file), _read(folder / "sentence_bert_config.json")
    if config.get("include_prompt") is False or limits.get("do_lower_case"):
        raise EncoderError(f"{folder}: include_prompt=false, do_lower_case=true cannot be computed")
    similarity = _similarity(folder)
    if similarity == "product" and "Normalize" in steps:
        similarity = "cosine"  # which is the product of vectors of unit length
    # Releases before 6 state the pooling by flags.
    flags = [_POOLING_FLAG.fullmatch(key) for key, value in config.items() if value is True]
    mode = config.get("pooling_mode", " and ".join(flag[1] for flag in flags if flag))
    if mode not in _POOLINGS:
        raise EncoderError(
            f"{file} states the pooling {mode!r}; one of {', '.join(_POOLINGS)} can be computed"
        )
    longest = max_length(folder, limits.get("max_seq_length"))
    settings = _read(folder / _CONFIG)
    prompts = settings.get("prompts") or {}
    default = prompts.get(settings.get("default_prompt_name") or "", "")
    prefixes = {
        field: next((prompts[name] for name in names if prompts.get(name)), default)
        for field, names in _PROMPTS.items()
    }
    return {
        "pooling": _POOLINGS[mode],
        "dimension": config.get("embedding_dimension", config.get("word_embedding_dimension")),
        "max_length": longest,
        "special_tokens": "tokenizer",
        "similarity": similarity,
        **prefixes,
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
    """Return the least number of tokens that files or sentence-transformers state, else 512.

    Positions of a model like RoBERTa begin behind the padding's id, so that it takes fewer tokens
    than it has positions; older releases of sentence-transformers state all of them.
    """
    config = _read(folder / "config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and _OFFSET.search(str(config.get("model_type"))):
        padding = config.get("pad_token_id")
        positions -= (padding if isinstance(padding, int) else 1) + 1
    limits = stated, _read(folder / "tokenizer_config.json").get("model_max_length"), positions
    # A tokenizer that has no limit states 10^30.
    numbers = (limit for limit in limits if isinstance(limit, int) and limit < 10**9)
    return min(numbers, default=_DEFAULT_LENGTH)


def _similarity(folder: Path) -> str:
    """Return the similarity that a folder states for its model; the cosine where it states none."""
    stated = str(_read(folder / _CONFIG).get("similarity_fn_name") or "cosine")
    return _SIMILARITIES.get(stated, stated)


def _read(file: Path) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON of a file, an empty object if there is none."""
    try:
        return json.loads(file.read_text("utf-8")) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise EncoderError(f"{file} cannot be read: {error}") from None
