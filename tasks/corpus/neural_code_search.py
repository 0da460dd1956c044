"""The published files of the Neural Code Search evaluation dataset (Li et al. 2019, section 2).

The corpus holds places of methods, no text: it is cut from the repositories that the dataset lists.
Archives are read member by member and never unpacked.
"""

import gzip
import json
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from infra.errors import SourceError
from infra.files import BELOW, OTHER_OUTPUT, atomic_write, leads_outside, space_on
from infra.text import is_blank
from tasks.corpus.functions import find_functions
from tasks.corpus.source_files import folder, languages_of
from tasks.inputs.lines import Line, decode_json, read_items, validated
from tasks.inputs.text import inside, not_utf_8, printable, read_text_lines

REPOSITORIES = "android_repositories_download_links.txt"
QUESTIONS = "287_android_questions.json"
CORPUS = "search_corpus_1.tar.gz"
NO_REPOSITORY = "method of a repository that is not there"
NO_FILE = "method of a file that is not there"
NO_LINES = "method beyond the end of its file"
LARGE = "method of a file of more than 64 MB"

_ARCHIVES = "search_corpus_*.tar.gz"
_LINK = re.compile(r"https://github\.com/([\w.-]+/([\w.-]+))/archive/([\w.-]+)\.zip")
_LONGEST_LINE = 1 << 20  # bytes of a line of the corpus, which has some 400
_LARGEST_FILE = 1 << 26  # bytes of a file of code
_LINE_END = re.compile(r"\r\n?|\n")


class Question(BaseModel):
    """A question with its answer and some functions of the corpus that answer it."""

    model_config = ConfigDict(frozen=True)

    stackoverflow_id: str = Field(min_length=1, coerce_numbers_to_str=True)
    question: str = Field(pattern=r"\S")
    question_url: str = ""
    question_author: str = ""
    question_author_url: str = ""
    answer: str
    answer_url: str = ""
    answer_author: str = ""
    answer_author_url: str = ""
    examples: tuple[int, ...] = ()
    examples_url: tuple[str, ...] | str = ()


class Method(BaseModel):
    """A line of the corpus; lines count from 1, the last one included."""

    model_config = ConfigDict(frozen=True)

    id: int
    filepath: str = Field(pattern=BELOW)
    method_name: str
    start_line: int = Field(ge=1)
    end_line: int
    url: str

    @model_validator(mode="after")
    def _ends_behind_its_start(self) -> Self:
        if self.end_line < self.start_line:
            raise ValueError("end_line is before start_line")
        return self


class Repository(NamedTuple):
    """A repository as GitHub's archive of a commit: ``owner/name``, its folder, its address."""

    name: str
    folder: str
    url: str


class Cut(NamedTuple):
    """The text of a method, or why there is none; the folder of its repository."""

    text: str
    problem: str
    folder: Path


def read_questions(file: Path) -> list[Question]:
    """Return the questions of ``287_android_questions.json``.

    Raises:
        SourceError: The file is missing, no JSON, has no questions, or one lacks something.
    """
    questions = [question for _, question in read_items(file, Question)]
    if not questions:
        raise SourceError(f"{printable(file)} holds no questions: copy the published file again")
    return questions


def read_repositories(file: Path) -> list[Repository]:
    """Return the repositories of ``android_repositories_download_links.txt``.

    Raises:
        SourceError: The file is missing, or a line is no address of an archive.
    """
    found = []
    for number, line in read_text_lines(file):
        if not line.strip():
            continue
        link = _LINK.fullmatch(line.strip())
        if not link:
            raise SourceError(
                f"{printable(file)}:{number}: {line[:80]!r} is no address such as "
                "https://github.com/OWNER/NAME/archive/COMMIT.zip"
            )
        name, last, commit = link.groups()
        found.append(
            Repository(name, f"{last}-{commit}", f"https://github.com/{name}/blob/{commit}")
        )
    return found


def corpus_archives(data: Path) -> list[Path]:
    """Return the archives of a published folder, by name.

    Raises:
        SourceError: There is none, or one is a link that leads outside.
    """
    found = inside(data, data.glob(_ARCHIVES))
    if not found:
        raise SourceError(f"{data} holds no {_ARCHIVES}: give the published folder data")
    return found


def read_methods(archive: Path) -> Iterator[Line[Method]]:
    """Yield the methods of an archive of JSON Lines; what is no plain file in it is passed over.

    Raises:
        SourceError: The archive is damaged, or a line of a member is no such method.
    """
    name = printable(archive)
    try:
        with tarfile.open(archive, "r|gz") as opened:
            for member in opened:
                stream = opened.extractfile(member) if member.isreg() else None
                if stream is None or Path(member.name).name.startswith("."):
                    continue
                inner, number = f"{name}:{printable(member.name)}", 0
                while line := stream.readline(_LONGEST_LINE):
                    number += 1
                    yield _method(inner, number, line)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise SourceError(f"{name} cannot be read ({error}): copy it again") from None


def _method(file: str, number: int, line: bytes) -> Line[Method]:
    place = f"{file}:{number}"
    if len(line) == _LONGEST_LINE:
        raise SourceError(f"{place}: a line of more than {_LONGEST_LINE:,} bytes: is this text?")
    try:
        value = decode_json(line.decode(), file, number)
    except UnicodeDecodeError as error:
        raise SourceError(f"{place}: {not_utf_8(error)}") from None
    return Line(place, validated(place, value, Method))


class MethodTexts:
    """Cuts methods out of a folder of unpacked repositories.

    Args:
        root: Has a folder ``NAME-COMMIT`` for each listed repository, as the archives unpack; what
            is not listed lies there as its path says.
        repositories: The listed ones.
    """

    def __init__(self, root: Path, repositories: list[Repository]) -> None:
        self._root = root
        self._folders = {repository.name: repository.folder for repository in repositories}
        self._lines_of = lru_cache(maxsize=4)(_lines_of)

    def cut(self, method: Method) -> Cut:
        """Return a method's lines.

        Raises:
            SourceError: Its file is, or lies behind, a link that leads outside of the folder.
        """
        first, *rest = method.filepath.split("/")
        listed = self._folders.get("/".join([first, *rest[:1]]))
        if listed and (self._root / listed).is_dir():
            first, rest = listed, rest[1:]
        repository = self._root / first
        if not repository.is_dir():
            return Cut("", NO_REPOSITORY, repository)
        file = repository.joinpath(*rest)
        if leads_outside(file, self._root):
            raise SourceError(
                f"{printable(file)} leads outside of {printable(self._root)}: put the file there"
            )
        if not file.is_file():
            return Cut("", NO_FILE, repository)
        if file.stat().st_size > _LARGEST_FILE:
            return Cut("", LARGE, repository)
        lines = self._lines_of(file)
        if method.end_line > len(lines):
            return Cut("", NO_LINES, repository)
        text = dedent("\n".join(lines[method.start_line - 1 : method.end_line]))
        return Cut(text, NO_LINES if is_blank(text) else "", repository)


def _lines_of(file: Path) -> list[str]:
    return _LINE_END.split(file.read_text(encoding="utf-8-sig", errors="replace"))


def write_corpus(repositories: Path, data: Path) -> Mapping[str, int]:
    """Cut the Java files of repositories into methods, and write these as the corpus is published.

    Files and methods are left out as by source ``source-code``. A list of repositories in ``data``
    says which of the folders are which; the others are named by their paths.

    Args:
        repositories: The folder of unpacked repositories.
        data: The folder that gets ``search_corpus_1.tar.gz``.

    Returns:
        Reason → number of files and methods that are left out; under "methods" those written.

    Raises:
        SourceError: There is no such folder, or no Java file in it.
    """
    counts: Counter[str] = Counter()
    files = folder(repositories, languages_of(("java",)))
    listed = data / REPOSITORIES
    known = {each.folder: each for each in read_repositories(listed)} if listed.exists() else {}
    with (
        space_on(data, OTHER_OUTPUT),
        atomic_write(data / CORPUS) as partial,
        TemporaryDirectory(dir=data, prefix=".corpus-") as work,
    ):
        lines = Path(work, "search_corpus_1.jsonl")
        with lines.open("w", encoding="utf-8") as written:
            for function in find_functions(files, counts):
                code = function.code
                counts["methods"] += 1
                path = code.origin.rpartition(":")[0]
                first, _, rest = path.partition("/")
                if repository := known.get(first):
                    path = f"{repository.name}/{rest}"
                url = f"{repository.url}/{rest}" if repository else path
                row = {
                    "id": counts["methods"], "filepath": path,
                    "method_name": code.name.rpartition(".")[2],
                    "start_line": code.first_line, "end_line": code.last_line,
                    "url": f"{url}#L{code.first_line}-L{code.last_line}",
                }  # fmt: skip
                written.write(json.dumps(row) + "\n")
        with (  # a gzip and a member without the time and the user: the same bytes each time
            partial.open("wb") as packed,
            gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as stream,
            tarfile.open(fileobj=stream, mode="w") as archive,
        ):
            member = tarfile.TarInfo(lines.name)
            member.size = lines.stat().st_size
            with lines.open("rb") as content:
                archive.addfile(member, content)
    return counts
