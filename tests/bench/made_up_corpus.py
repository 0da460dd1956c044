"""A corpus of any size: functions of installed distributions first, then made-up ones.

A made-up function is an installed one whose every name is another name of the corpus, drawn by a
seed: it parses, is as long as its model, and is no near duplicate of it. Its ``origin`` begins with
``made up``. Queries are first paragraphs of documentation, which the code has without; where they
do not suffice, made-up ones are words of a function's names. The functions are in one random order,
so that a small corpus is the beginning of a larger one and has texts of the same lengths.

The encoders beside it have one layer and random weights.
"""

import io
import json
import keyword
import logging
import random
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from tasks.corpus.documentation_pairs import DocumentedFunction
from tasks.corpus.functions import find_functions
from tasks.corpus.python_files import installed, standard_library
from tasks.filters import CorpusFunction
from tasks.filters.documentation import unpaired_reason
from tests.bench.documentation_pairs import TEST, TRAINING

DIMENSIONS = (64, 96, 128)  # of the encoders
_KEPT = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist)
_READ_TOO_MANY = 1.25  # of the functions that are read, some are dropped as equal or nearly so


@dataclass(frozen=True)
class MadeUpCorpus:
    """Functions in a random order, the installed ones before the made-up ones.

    Attributes:
        functions: The functions with their paragraphs of documentation.
        made_up: How many of the last ones are made up.
    """

    functions: Sequence[DocumentedFunction]
    made_up: int

    def write(self, folder: Path, codes: int, queries: int) -> None:
        """Write the first functions as the source ``jsonl`` reads them, each query labelled."""
        folder.mkdir(parents=True, exist_ok=True)
        chosen = self.functions[:codes]
        asked = list(islice(_asked(chosen), queries))
        _lines(folder / "codes.jsonl", map(_code_row, chosen))
        _lines(folder / "queries.jsonl", ({"id": code, "query": text} for code, text in asked))
        _lines(
            folder / "labels.jsonl",
            ({"query": code, "code": code, "relevance": 1} for code, _ in asked),
        )


def read_corpus(size: int, most_installed: int) -> MadeUpCorpus:
    """Return a corpus of this size with at most so many functions of installed distributions."""
    logging.getLogger("tasks.corpus").setLevel(logging.ERROR)  # files that do not parse
    wanted = min(size, most_installed)
    read = islice(_installed(), int(wanted * _READ_TOO_MANY))
    distinct = {item.code.code_id: item for item in map(DocumentedFunction.of, read)}
    functions = list(distinct.values())
    random.Random(0).shuffle(functions)
    functions = functions[:wanted]
    names = [name for item in functions for name in _names(item.code.text)]
    made_up: dict[str, DocumentedFunction] = {}
    numbers = count()
    while len(functions) + len(made_up) < size:
        number = next(numbers)
        item = varied(functions[number % len(functions)], number, names)
        if item.code.code_id not in distinct:  # one without names is as its model
            made_up[item.code.code_id] = item
    return MadeUpCorpus([*functions, *made_up.values()], len(made_up))


def varied(model: DocumentedFunction, number: int, names: Sequence[str]) -> DocumentedFunction:
    """Return a made-up function: ``model`` with each name replaced by a drawn one, one to one."""
    draw = random.Random(number)
    new: dict[str, str] = {}
    taken: set[str] = set()
    for name in _names(model.code.text):
        while name not in new:
            other = draw.choice(names)
            if other in taken:
                other = f"{other}_{len(taken)}"
            new[name] = other
            taken.add(other)
    lines = model.code.text.split("\n")
    for token in reversed(_name_tokens(model.code.text)):
        row, start, end = token.start[0] - 1, token.start[1], token.end[1]
        lines[row] = f"{lines[row][:start]}{new[token.string]}{lines[row][end:]}"
    code = model.code.of("\n".join(lines), name=new.get(model.name, f"made_up_{number}"))
    words = [word for name in islice(new.values(), 6) for word in name.split("_") if word]
    paragraph = f"{' '.join(words)} {number}" if model.paragraph else ""
    return DocumentedFunction(
        code.model_copy(update={"origin": f"made up {number}"}), paragraph, f"made up {number}"
    )


def make_encoders(folder: Path, texts: Sequence[str]) -> list[str]:
    """Write a checkpoint for each dimension and return the references that name them."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=8000, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    references = []
    for dimension in DIMENSIONS:
        torch.manual_seed(dimension)
        place = folder / f"made-up-{dimension}"
        PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
            tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"
        ).save_pretrained(place)
        config = BertConfig(
            vocab_size=8000, hidden_size=dimension, num_hidden_layers=1, num_attention_heads=4,
            intermediate_size=2 * dimension, pad_token_id=0,
        )  # fmt: skip
        BertModel(config).save_pretrained(place)
        references.append(f"checkpoint:{place.name}={place}?pooling=mean&max_length=128")
    return references


def _installed() -> Iterator[CorpusFunction]:
    unread = Counter[str]()
    places = chain([standard_library()], map(installed, (*TRAINING, *TEST)))
    return chain.from_iterable(find_functions(place, unread) for place in places)


def _name_tokens(text: str) -> list[tokenize.TokenInfo]:
    """Return the names of a function that are no keywords; none where it cannot be read."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError):
        return []
    return [token for token in tokens if token.type == tokenize.NAME and token.string not in _KEPT]


def _names(text: str) -> list[str]:
    return [token.string for token in _name_tokens(text)]


def _asked(functions: Sequence[DocumentedFunction]) -> Iterator[tuple[str, str]]:
    """Yield (id of a function, its paragraph), each paragraph once, then names as queries."""
    seen: set[str] = set()
    for item in functions:
        text = " ".join(item.paragraph.split())
        unfit = unpaired_reason(item.name, item.paragraph, item.code.text)
        if text and text not in seen and (unfit is None or item.documented_id[:7] == "made up"):
            seen.add(text)
            yield item.code.code_id, text
    for item in functions:
        text = f"{item.code.name.replace('_', ' ').replace('.', ' ')} {item.code.first_line}"
        if not item.paragraph and text not in seen:
            seen.add(text)
            yield item.code.code_id, text


def _code_row(function: DocumentedFunction) -> dict[str, object]:
    code = function.code
    return {"id": code.code_id, "code": code.text, "name": code.name, "origin": code.origin}


def _lines(file: Path, rows: Iterator[dict[str, object]]) -> None:
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
