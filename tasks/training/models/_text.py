"""Tokens of queries and of Python code, and vocabularies that turn them into ids."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tokenizers import Tokenizer, models, trainers
from tokenizers.pre_tokenizers import ByteLevel

from infra.languages import languages
from infra.words import words

Split = Callable[[str], list[str]]  # text → its tokens

PADDING = 0  # id of what fills texts to one length
UNKNOWN = "<unk>"  # the token of an empty text; its id stands for tokens without one
_SPECIAL = ["<pad>", UNKNOWN]
_QUERY = re.compile(r"\w+|[^\w\s]")
_CODE = re.compile(r"\w+|(?:\*\*|//|>>|<<|[-+*/%@&|^!=<>:])=|\*\*|//|>>|<<|->|[^\w\s]")
_NAME = re.compile(r"\b(?:def|class)\s+([^\W\d]\w*)")


def query_tokens(query: str) -> list[str]:
    """Return a query's words in lower case, and its punctuation marks."""
    return _QUERY.findall(query.lower())


def code_tokens(code: str) -> list[str]:
    """Return names, numbers and operators of Python code; those within literals and comments too.

    CodeSearchNet's lexer takes a literal for one token and leaves out comments; this one reads
    code that is no valid Python, too.
    """
    return _CODE.findall(code)


def defined_name(code: str) -> str:
    """Return the name of the first function or class that Python code defines, else ""."""
    found = _NAME.search(code)
    return found[1] if found else ""


def name_words(code: str) -> list[str]:
    """Return the words of that name."""
    return words(defined_name(code))


def calls(code: str) -> list[str]:
    """Return the names that Python code calls, inner calls first, without what is before a dot.

    Code that is no valid Python calls nothing.
    """
    return list(languages.get("python")().calls(code))


def vocabulary(
    texts: Iterable[list[str]], length: int, min_count: int, *, pieces: bool
) -> Tokenizer:
    """Return the vocabulary of texts: at most 10,000 entries.

    Args:
        texts: What it is learned from, as tokens.
        length: The most ids of a text; what is beyond is cut off.
        min_count: How often an entry must occur.
        pieces: Whether rarer tokens are cut into pieces, by byte-pair encoding of bytes; else they
            are unknown.
    """
    how: Any = {"vocab_size": 10_000, "min_frequency": min_count, "special_tokens": _SPECIAL}
    how["show_progress"] = False
    if pieces:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = ByteLevel(use_regex=False)  # a blank marks a token's beginning
        trainer: Any = trainers.BpeTrainer(**how, initial_alphabet=ByteLevel.alphabet())
    else:
        tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
        trainer = trainers.WordLevelTrainer(**how)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.enable_truncation(length)
    tokenizer.enable_padding(pad_id=PADDING, pad_token=_SPECIAL[PADDING])
    return tokenizer


def ids(tokenizer: Tokenizer, texts: Sequence[list[str]]) -> list[list[int]]:
    """Return ids of texts that are given as tokens, filled to one length of at least 1."""
    tokens = [text or [UNKNOWN] for text in texts]
    return [one.ids for one in tokenizer.encode_batch(tokens, is_pretokenized=True)]
