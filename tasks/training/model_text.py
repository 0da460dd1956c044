"""Tokens of queries and of code, and vocabularies that turn them into ids."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tokenizers import Tokenizer, models, trainers
from tokenizers.pre_tokenizers import ByteLevel

from infra.languages import language_of, languages
from infra.text import words

Split = Callable[[str], list[str]]  # text → its tokens

PADDING = 0  # id of the padding token
UNKNOWN = "<unk>"  # the token of an empty text; its id stands for tokens without one
_SPECIAL = ["<pad>", UNKNOWN]
_QUERY = re.compile(r"\w+|[^\w\s]")
_CODE = re.compile(r"\w+|(?:\*\*|//|>>|<<|[-+*/%@&|^!=<>:])=|\*\*|//|>>|<<|->|[^\w\s]")
_NAME = re.compile(r"\b(?:def|class)\s+([^\W\d]\w*)")


def query_tokens(query: str) -> list[str]:
    """Return a query's words in lower case, and its punctuation marks."""
    return _QUERY.findall(query.lower())


def code_tokens(code: str) -> list[str]:
    """Return names, literals and operators of code as its language's grammar has them.

    A literal is one token, and comments are none, as in CodeSearchNet's lexer. Of Python, and of
    code that no language reads, the words within literals and comments are tokens instead.
    """
    language = language_of(code)
    if language is None or language.name == "python":
        return _CODE.findall(code)
    return list(language.tokens(code))


def defined_name(code: str) -> str:
    """Return the name of the first function, or of Python's classes, that code defines, else ""."""
    language = language_of(code)
    if language is None or language.name == "python":
        found = _NAME.search(code)
        return found[1] if found else ""
    return language.functions_of(code)[0].name.rpartition(".")[2]


def name_words(code: str) -> list[str]:
    """Return the words of that name."""
    return words(defined_name(code))


def calls(code: str) -> list[str]:
    """Return the names that code calls, inner calls first, without the part before a dot.

    Code that no language reads calls nothing.
    """
    return list((language_of(code) or languages.get("python")()).calls(code))


def bag(code: str) -> list[str]:
    """Return each word of a code once, without keywords; of other languages those of names."""
    language = language_of(code)
    if language is None or language.name == "python":
        keywords = languages.get("python")().keywords
        return [word for word in dict.fromkeys(words(code)) if word not in keywords]
    return list(dict.fromkeys(words(" ".join(language.identifiers(code)))))


def vocabulary(
    texts: Iterable[list[str]], length: int, min_count: int, *, pieces: bool
) -> Tokenizer:
    """Return the vocabulary of texts: at most 10,000 entries.

    Args:
        texts: The texts to learn from, as tokens.
        length: The most ids of a text, after which it is cut.
        min_count: The fewest occurrences of an entry.
        pieces: Whether rarer tokens are cut into pieces, by byte-pair encoding of bytes; else they
            are unknown.
    """
    options: Any = {
        "vocab_size": 10_000,
        "min_frequency": min_count,
        "special_tokens": _SPECIAL,
        "show_progress": False,
    }
    if pieces:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = ByteLevel(use_regex=False)  # a blank marks a token's beginning
        trainer: Any = trainers.BpeTrainer(**options, initial_alphabet=ByteLevel.alphabet())
    else:
        tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
        trainer = trainers.WordLevelTrainer(**options)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.enable_truncation(length)
    tokenizer.enable_padding(pad_id=PADDING, pad_token=_SPECIAL[PADDING])
    return tokenizer


def ids(tokenizer: Tokenizer, texts: Sequence[list[str]]) -> list[list[int]]:
    """Return ids of texts that are given as tokens, padded to one length of at least 1."""
    tokens = [text or [UNKNOWN] for text in texts]
    return [one.ids for one in tokenizer.encode_batch(tokens, is_pretokenized=True)]
