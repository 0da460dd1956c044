"""Queries that a model writes for functions: whose, what it sees of them, what is left out.

A stage asks the model and writes all that it wrote to a file, with the reasons why queries are left
out; this source reads the file. A function is no label of its query: the agents judge it like all.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal
from unicodedata import normalize

from pydantic import BaseModel, ConfigDict, Field, field_validator

from infra.collected import Collected, Content, Item
from infra.errors import SourceError
from infra.identity import mark, mark_of
from infra.records import Code, Query, SourceInfo
from infra.text import words
from tasks.filters import QueryReason
from tasks.inputs.lines import StrictRow, read_lines

UNREAD = QueryReason("query of which the model wrote nothing readable")
UNFIT = QueryReason(
    "written query of fewer than two words, of more than 200 characters, or with a hidden name"
)
ABOUT = QueryReason("written query that asks about a function instead of for one")
NAMED = QueryReason(
    "written query that shares its function's name, or more of its words than the bound"
)
REPEATED = QueryReason("written query that repeats another")
GENERAL = QueryReason("written query that fits more functions than top_k")
HIDDEN = "___"  # a name that looks like one goes into the queries of weak models

Form = Literal["keywords", "question"]

_LONGEST, _FEWEST = 200, 2
# What says nothing of a function, in questions, keywords and names.
_EMPTY = frozenset(
    words(
        "a an and any are as at be by can code do does for from function given how i if in into is "
        "it its me method my of on one or program python should some that the there this to use "
        "using want way we what when where which with write you"
    )
)
_ABOUT = re.compile(
    r"\b(?:this|the) (?:given |provided )?(?:function|method|code|snippet)\b", re.IGNORECASE
)
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")


class WrittenOptions(BaseModel):
    """The options of written queries, keys of the table ``written`` of section ``source``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    functions: int = Field(100, ge=1, description="Functions drawn; each file has one first.")
    forms: tuple[Form, ...] = Field(
        ("keywords", "question"), min_length=1, description="Queries of a function."
    )
    seed: int = Field(0, description="Of the draw.")
    shared_words: float = Field(
        0.5, ge=0, le=1, description="Largest share of a name's words that its query may have."
    )
    top_k: int = Field(20, ge=1, description="Most functions that may have all of a query's words.")
    folder: Path = Field(Path("written"), description="The files of what a model wrote.")

    @field_validator("forms", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return re.findall(r"\w+", value) if isinstance(value, str) else value


class WrittenQuery(StrictRow):
    """A query as a model wrote it.

    Attributes:
        query: Its text, "" where nothing could be read.
        form: Its form.
        function: Id of the function.
        place: The function's file and line.
        model: Who wrote it.
        left_out: Why it is left out, "" where it is taken.
    """

    query: str
    form: Form
    function: str
    place: str
    model: str
    left_out: str = ""


class WrittenQueries:
    """The queries that a model has written for functions of sources.

    Args:
        options: Which functions, and what is left out.
        codes: The fingerprints of the sources.
        items: Reads their main collections.
    """

    def __init__(
        self, options: WrittenOptions, codes: Sequence[str], items: Callable[[], Iterable[Item]]
    ) -> None:
        self.options = options
        self._codes = codes
        self._items = items

    def fingerprint(self) -> str:
        """Return a digest of the codes and the options; what was written for them stays."""
        options = self.options.model_dump(mode="json", exclude={"folder"})
        return mark("written", mark_of(options), *self._codes)

    @property
    def file(self) -> Path:
        """The file of what was written, whether it is there or not."""
        return self.options.folder / f"{self.fingerprint()}.jsonl"

    def functions(self) -> Iterator[Code]:
        """Yield the functions that have a name, by file."""
        return (item for item in self._items() if isinstance(item, Code) and item.name)

    def main(self) -> Content:
        """Return the queries that are taken.

        Raises:
            SourceError: None are written for the present files and options.
        """
        if not self.file.is_file():
            raise SourceError(
                "no queries are written for these files and options: run `cosqa collect` with "
                "--queries written and the --model that writes them"
            )
        rows = [row for _, row in read_lines(self.file, WrittenQuery)]
        taken = [row for row in rows if not row.left_out]
        info = SourceInfo(
            name="written",
            licence="unknown",
            revision=", ".join(dict.fromkeys(row.model for row in rows)),
            location="written for functions",
        )
        queries = (Query.of(row.query, f"{row.place} ({row.function})") for row in taken)
        return Collected(info=info, queries=tuple(queries), dropped=tally_of(rows))


def function_of(query: Query) -> str:
    """Return the id of the function that a query was written for, "" where it was not."""
    found = re.search(r" \((c[0-9a-f]{32})\)$", query.origin)
    return found[1] if found else ""


def tally_of(rows: Iterable[WrittenQuery]) -> dict[str, int]:
    """Return reason → number of queries that are left out."""
    return dict(Counter(QueryReason(row.left_out) for row in rows if row.left_out))


def draw_by_file(codes: Iterable[Code], number: int, seed: int) -> list[Code]:
    """Return functions drawn at random, of each file one before any has a second one."""
    drawn: list[tuple[int, str, Code]] = []
    for _, group in groupby(codes, lambda code: code.origin.rpartition(":")[0]):
        keyed = ((mark(str(seed), code.code_id), code) for code in group)
        shuffled = sorted(keyed, key=itemgetter(0))
        ranked = ((rank, key, code) for rank, (key, code) in enumerate(shuffled))
        drawn = nsmallest(number, chain(drawn, ranked), key=itemgetter(0, 1))
    return [code for *_, code in drawn]


def masked(code: Code) -> str:
    """Return a function's text without its name, however that is spelt.

    ``read_lines`` is hidden in readLines and "read lines", too; one word wherever it is a word.
    """
    text = normalize("NFKC", code.text)  # as Python's identifiers are
    name = r"[\W_]{0,3}".join(map(re.escape, words(_own_name(code))))
    start, end = r"(?:(?<![^\W_])|(?<=[a-z\d])(?=[A-Z]))", r"(?:(?![^\W_])|(?<=[a-z\d])(?=[A-Z]))"
    return re.sub(f"{start}(?i:{name}){end}", HIDDEN, text) if name else text


def names_function(query: str, code: Code, bound: float = 1.0) -> bool:
    """Return True if a query has a function's name in any spelling, or too many of its words."""
    name, asked = words(normalize("NFKC", _own_name(code))), words(query)
    spelt = " ?".join(map(re.escape, "".join(name)))  # of whole words, however they are cut
    if name and re.search(f"(?:^| ){spelt}(?: |$)", " ".join(asked)):
        return True
    telling = _telling(name) or {*map(_stem, name)}
    return len(telling & {*map(_stem, asked)}) > bound * len(telling)


def leave_out(
    rows: Sequence[WrittenQuery],
    texts: Iterable[str],
    of: Mapping[str, Code],
    chosen: WrittenOptions,
) -> list[WrittenQuery]:
    """Return queries as they were written, with the reasons to leave some out.

    A query is too general if all of its words but empty ones, without their endings, are in the
    texts of more than ``top_k`` functions: nothing that it says tells these apart.

    Args:
        rows: The queries.
        texts: Those of all functions.
        of: Id of a function → the function, of each that has a query.
        chosen: The bounds.
    """
    known, reasons, asked = set[tuple[str, ...]](), list[str](), list[set[str]]()
    for row in rows:
        found = tuple(words(row.query))
        if row.left_out:
            reason = row.left_out
        elif len(found) < _FEWEST or len(row.query) > _LONGEST or HIDDEN in row.query:
            reason = UNFIT
        elif _ABOUT.search(row.query):
            reason = ABOUT
        elif names_function(row.query, of[row.function], chosen.shared_words):
            reason = NAMED
        else:
            reason = REPEATED * (found in known)
            known.add(found)
        reasons.append(reason)
        asked.append(_telling(found))
    fitting = Counter[int]()
    for text in texts:
        found_in = {*map(_stem, words(text))}
        fitting.update(number for number, telling in enumerate(asked) if telling <= found_in)
    return [
        row.model_copy(update={"left_out": reason or GENERAL * (fitting[number] > chosen.top_k)})
        for number, (row, reason) in enumerate(zip(rows, reasons, strict=True))
    ]


def _own_name(code: Code) -> str:
    return code.name.rpartition(".")[2]


def _telling(found: Iterable[str]) -> set[str]:
    return {_stem(word) for word in found if word not in _EMPTY}


@cache
def _stem(word: str) -> str:
    """Return a word without its ending: parses, parsing → pars; copy, copies → copi."""
    stem = re.sub(r"([^\W\d])\1$", r"\1", _ENDING.sub("", word))
    return f"{stem[:-1]}i" if stem.endswith("y") else stem
