"""The source of a Stack Exchange dump: popular questions, and the code of their best answers.

The dump is published by Stack Exchange, a 7z archive for each site; its ``Posts.xml``, unpacked, is
what is read (`tasks.corpus.mined_questions`). A title is a query, the answer's code is a code, and
a label joins the two, so that what is published trains encoders (``cosqa train``). As
``--queries stack-exchange=Posts.xml`` it gives queries over other code.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field, field_validator

from infra.collected import Item
from infra.errors import SourceError
from infra.languages import languages
from infra.records import Label, Query, SourceInfo
from tasks.corpus.aroma import have_matches
from tasks.corpus.functions import find_functions, parse_function
from tasks.corpus.merging import Deduplicator
from tasks.corpus.mined_questions import Popularity, mine_questions
from tasks.corpus.neural_code_search import read_questions
from tasks.corpus.source_files import folder, languages_of
from tasks.inputs.text import inside, printable, require_folder
from tasks.sources import Source, SourceOptions, sources

LABELS = "answers:stack-exchange"

_EXAMPLE = """<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="1" PostTypeId="1" ViewCount="90" Title="How to double a number?" Tags="|python|" />
  <row Id="2" PostTypeId="2" ParentId="1" Score="3" Body="&lt;pre&gt;&lt;code&gt;\
def double(x):&#xA;    return x + x&lt;/code&gt;&lt;/pre&gt;" />
</posts>
"""


class StackExchangeOptions(SourceOptions):
    """The options of source stack-exchange."""

    path: Path = Field(description="Posts.xml of an unpacked dump, or the folder that holds it")
    tags: tuple[str, ...] = Field(
        (), description="All of which a question must have, such as android,java; none for all."
    )
    most: int = Field(
        17_000, ge=1, description="How many of the most popular questions are looked at."
    )
    popularity: Popularity = Field("views", description="What makes a question popular.")
    corpus: Path | None = Field(
        None,
        description="A folder of Java files; questions whose code has no match in their methods, "
        "by Aroma's similarity above .25, are left out.",
    )
    evaluated: Path | None = Field(
        None,
        description="287_android_questions.json, or such a file: its questions are left out, by id "
        "and by title.",
    )
    site: str = Field(
        "stackoverflow.com", pattern=r"^[\w.-]+$", description="The site, for links to answers."
    )

    @field_validator("tags", mode="before")
    @classmethod
    def _tags(cls, value: object) -> object:
        return [*filter(None, value.replace(",", " ").split())] if isinstance(value, str) else value


@sources.register("stack-exchange")
class StackExchangeSource(Source[StackExchangeOptions]):
    """Questions with an up-voted answer with code."""

    version = "1"

    def __init__(self, collection: str, options: StackExchangeOptions) -> None:
        super().__init__(collection, options)
        is_folder = options.path.is_dir()
        self._file = options.path / "Posts.xml" if is_folder else options.path
        if is_folder:
            inside(options.path, [self._file])
        java = languages_of(("java",))
        corpus = options.corpus and require_folder(options.corpus, "source.corpus")
        self._corpus = folder(corpus, java) if corpus else None
        if not self._file.is_file():
            lacking = "no Posts.xml in it" if is_folder else "no such folder or file"
            raise SourceError(
                f"{printable(options.path)}: {lacking}: unpack a site's archive of the Stack "
                "Exchange dump, and give its Posts.xml to --path or --queries"
            )

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write a question and an answer with code."""
        (folder / "Posts.xml").write_text(_EXAMPLE, encoding="utf-8")
        return {"path": folder, "tags": ["python"]}

    def inputs(self) -> list[Path]:
        """Return the file, and those of the corpus."""
        evaluated = self._options.evaluated
        more = [evaluated] if evaluated else []
        return [self._file, *more, *(self._corpus.files if self._corpus else ())]

    @property
    def info(self) -> SourceInfo:
        """Origin and licence of the posts."""
        return SourceInfo(
            name="stack-exchange",
            licence="CC-BY-SA-4.0",
            revision="unknown",
            location=f"https://archive.org/details/stackexchange ({self._options.site})",
        )

    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Yield the titles as queries, their answers' code, and that the one answers the other.

        Raises:
            SourceError: The file is no Posts.xml, or is damaged; or no question is left.
        """
        options = self._options
        corpus = self._corpus

        def matches(codes: Sequence[str]) -> list[bool]:
            functions = find_functions(corpus, Counter()) if corpus else ()
            return have_matches(codes, (function.code.text for function in functions))

        evaluated = read_questions(options.evaluated) if options.evaluated else ()
        titles = {each.stackoverflow_id: each.question for each in evaluated}
        mined, steps = mine_questions(
            self._file, options.tags, options.most, options.popularity,
            matches if corpus else None, titles,
        )  # fmt: skip
        told = ", ".join(f"{number:,} {step}" for step, number in steps.items())
        if not mined:
            raise SourceError(f"{printable(self._file)}: no question is left of {told}")
        language = next((tag for tag in options.tags if tag in languages.names()), "")
        labels = []
        for each in mined:
            query = Query.of(each.title, f"question {each.question_id}")
            function = parse_function(each.code, f"answer {each.answer_id}", language=language)
            url = f"https://{options.site}/a/{each.answer_id}"
            code = function.with_fields(language=language, licence=each.licence, url=url)
            yield from merged.queries([query])
            yield from merged.codes([code])
            pair = {"query_id": query.query_id, "code_id": code.code.code_id}
            labels.append(Label(**pair, origin=LABELS, relevance=1.0))
        yield from merged.labels(labels)
        merged.notes.append(told)
