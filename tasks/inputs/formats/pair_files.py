"""Files of pairs: CodeSearchNet's, CoSQA's, and those written by hand.

A file of JSON Lines, compressed or not, a file with a JSON array, or a folder with ``*.jsonl`` and
``*.jsonl.gz``. An item has ``query`` or ``doc``, ``code`` and maybe ``label``, as CoSQA is
published: a label 0 is no pair, no label is a label 1. Or it is a function of CodeSearchNet: the
tokens of documentation and code, joined by blanks, as CodeXGLUE's models read them; where there are
none, the first paragraph of the documentation, and the code without its documentation.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

from infra.errors import SourceError
from infra.languages import language_named
from infra.records import normalise_code
from infra.text import is_blank
from tasks.filters.documentation import first_paragraph
from tasks.inputs.formats import Format, PairSplit, formats
from tasks.inputs.lines import read_items
from tasks.inputs.pairs import PAIR_FORMS, PairRow, Pairs, read_queries
from tasks.inputs.text import packed_or_not, printable, read_text_lines

NO_DOCUMENTATION = "function without documentation"
NO_CODE = "documentation without code"
NOT_RELEVANT = "pair labelled 0"

_OF_PAIRS = {"doc", "code", "code_tokens", "docstring", "docstring_tokens"}


class PairLine(NamedTuple):
    """A query and its code; of a documented function either may be empty.

    Attributes:
        query: The query.
        code: The code.
        label: 1, or 0 where the code does not answer the query.
    """

    query: str
    code: str
    label: int


class _Line(PairRow):
    """A pair, or a function with its documentation; CoSQA has its tokens as one text."""

    docstring: str | None = None
    docstring_tokens: list[str] | str = ""
    code_tokens: list[str] | str = ""


@formats.register("pair-files")
class PairFiles(Format):
    """A file or folder of JSON Lines of query and code, or of functions of CodeSearchNet.

    Raises:
        SourceError: There is none, one is cut short or malformed, or a line lacks query or code.
    """

    turn = 9

    @classmethod
    def at(cls, path: Path, usual: str) -> Self:
        """Return the path's files, if there are any."""
        del usual
        return cls(path)

    @classmethod
    def places(cls, folder: Path, split: PairSplit) -> Iterable[Path]:
        """Return a folder or a file of the split's name."""
        return [folder / f"{split}{ending}" for ending in ("", ".jsonl", ".jsonl.gz", ".json")]

    def pairs(self) -> Pairs:
        """Return the pairs of all items that are one."""
        left_out: Counter[str] = Counter()
        pairs = []
        for line in self.lines():
            if not line.query:
                left_out[NO_DOCUMENTATION] += 1
            elif not line.code:
                left_out[NO_CODE] += 1
            elif not line.label:
                left_out[NOT_RELEVANT] += 1
            else:
                pairs.append((line.query, line.code))
        return Pairs.of(self.name, pairs, left_out)

    def lines(self) -> Iterator[PairLine]:
        """Yield the items."""
        for file in _files(self.path):
            for place, line in read_items(file, _Line):
                yield _labelled(place, line) if line.query is not None else _documented(place, line)

    def query_texts(self) -> Iterable[str]:
        """Return the queries of pairs, or of a file that has queries alone."""
        if self.path.exists() and not (self.path.is_dir() or self.path.is_file()):
            raise SourceError(
                f"{printable(self.path)} is a pipe or a device, and it is read more than once: "
                "write the queries into a file"
            )
        if self.path.is_dir() or _holds_pairs(self.path):
            return (line.query for line in self.lines())
        return (query.text for _, query in read_queries(self.path))

    def code_texts(self) -> Iterator[str]:
        """Yield the code of each item, whatever else it has."""
        for file in _files(self.path):
            for place, line in read_items(file, _Line):
                code = _joined(line.code_tokens) or _without_documentation(
                    line.code or "", line.language
                )
                if is_blank(code):
                    raise SourceError(f'{place}: there is neither "code" nor "code_tokens"')
                yield normalise_code(code)


def _holds_pairs(file: Path) -> bool:
    """Return True if the first line is one of pairs; a JSON array is, too."""
    first = next((text for _, text in read_text_lines(file) if text.strip()), "")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return first.lstrip().startswith("[")
    return isinstance(row, list) or (isinstance(row, dict) and not _OF_PAIRS.isdisjoint(row))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise SourceError(f"{printable(path)}: no such file or folder: name one with pairs")
    files = packed_or_not(path, "*.jsonl")
    if not files:
        below = sorted({file.parent for file in path.rglob("*.jsonl*")})
        names = ", ".join(printable(folder) for folder in below[:5])
        raise SourceError(
            f"{printable(path)} holds no *.jsonl or *.jsonl.gz: "
            + (f"name one of {names}" if names else PAIR_FORMS)
        )
    return files


def _labelled(place: str, line: _Line) -> PairLine:
    query, code = line.query or "", line.code or ""
    if is_blank(query):
        raise SourceError(f"{place}: the pair has an empty query: write one, or delete the line")
    if is_blank(code):
        state = "no code" if line.code is None else "an empty code"
        raise SourceError(
            f'{place}: the pair has {state}: write the code that answers the query as "code", or '
            "delete the line"
        )
    return PairLine(query, code, line.label)


def _documented(place: str, line: _Line) -> PairLine:
    if line.docstring is None and not line.docstring_tokens:
        raise SourceError(f'{place}: there is neither "query" nor "docstring": {PAIR_FORMS}')
    if line.code is None and not line.code_tokens:
        raise SourceError(
            f'{place}: the function has neither "code" nor "code_tokens": copy the file again, or '
            "delete the line"
        )
    query = _joined(line.docstring_tokens) or first_paragraph(line.docstring or "")
    code = _joined(line.code_tokens) or _without_documentation(line.code or "", line.language)
    return PairLine(query.strip(), code.strip(), line.label)


def _joined(tokens: list[str] | str) -> str:
    return tokens if isinstance(tokens, str) else " ".join(tokens)


def _without_documentation(text: str, language: str) -> str:
    """Return code without its documentation; as it is where it does not parse."""
    reader = language_named(language)
    try:
        functions = reader.functions_of(text) if reader else ()
    except SyntaxError:
        functions = ()
    return functions[0].text_without_documentation if functions else text
