"""Lines of files of pairs: CodeSearchNet's, CoSQA's, and those written by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from infra.errors import SourceError
from infra.languages import language_named
from infra.records import normalise_code
from tasks.files.json_lines import read_items
from tasks.files.text import packed_or_not, printable
from tasks.filters.documentation import first_paragraph

PAIR_FORMS = (
    'write lines such as {"query": "...", "code": "def ...", "label": 1}, or name an exported '
    "benchmark, a BEIR folder or a folder of CodeSearchNet's jsonl files"
)


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


class _Line(BaseModel):
    """The keys that are read; CoSQA has its tokens as one text."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    query: str | None = Field(None, validation_alias=AliasChoices("query", "doc"))
    code: str | None = None
    label: Annotated[int, Field(ge=0, le=1)] = 1
    docstring: str | None = None
    docstring_tokens: list[str] | str = ""
    code_tokens: list[str] | str = ""
    language: str = "python"


def read_pair_lines(path: Path) -> Iterator[PairLine]:
    """Yield the pairs of a file, or of the files in a folder, in the order of their names.

    Args:
        path: A file of JSON Lines, compressed or not, a file with a JSON array, or a folder with
            ``*.jsonl`` and ``*.jsonl.gz``.

    Raises:
        SourceError: There is none, one is cut short or malformed, or a line lacks query or code.
    """
    for file in _files(path):
        for place, line in read_items(file, _Line):
            yield _labelled(place, line) if line.query is not None else _documented(place, line)


def read_code_lines(path: Path) -> Iterator[str]:
    """Yield the code of each line of such files, whatever else a line has.

    Raises:
        SourceError: As `read_pair_lines`; a query need not be there.
    """
    for file in _files(path):
        for place, line in read_items(file, _Line):
            code = _joined(line.code_tokens) or _without_documentation(
                line.code or "", line.language
            )
            if not code.strip():
                raise SourceError(f'{place}: there is neither "code" nor "code_tokens"')
            yield normalise_code(code)


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
    if not query.strip():
        raise SourceError(f"{place}: the pair has an empty query: write one, or delete the line")
    if not code.strip():
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
