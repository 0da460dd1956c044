"""The source of a git history: subjects of commits as queries, the functions they touched as code.

``--path FOLDER --queries commits`` asks the subjects over all functions of a folder as they are;
as a source of its own its code is what the commits touched, each function as the newest of them
left it. Nothing of the repository runs (`tasks.corpus.git_history`), and no label is taken from it:
the agents judge a subject's own function like all others.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath

from pydantic import Field

from infra.collected import Item
from infra.languages import Function, Language
from infra.records import Query, SourceInfo
from tasks.benchmarks.licences import licence_of_repository
from tasks.corpus.functions import corpus_function
from tasks.corpus.git_history import Commit, GitHistory, OpenHistory
from tasks.corpus.merging import Deduplicator
from tasks.corpus.source_files import languages_of
from tasks.filters import CorpusFunction, QueryReason
from tasks.inputs.text import one_line
from tasks.sources import FolderOptions, FolderSource, Languages, Names, filters_by_default, sources

NO_FUNCTION = QueryReason("commit that changes no function")
MANY = QueryReason("commit that changes more than three functions")
UNFIT = QueryReason("subject of fewer than three words, or of more than 200 characters")
NAMED = QueryReason("subject that names its function")
NOT_READ = "commit that is older than those looked at"

_MOST_FUNCTIONS, _LEAST_WORDS, _LONGEST = 3, 3, 200
_WORD = re.compile(r"\w+")
_EXAMPLE = """commit refs/heads/main
committer A <a@b> {time} +0000
data {size}
{subject}
M 644 inline arithmetic.py
data {length}
{text}

"""


class CommitsOptions(FolderOptions):
    """The options of source commits."""

    path: Path = Field(description="a folder of a git repository, whose files alone count")
    languages: Languages = ()
    queries_at_most: int = Field(500, ge=1, description="Subjects that are taken, newest first.")
    commits: int = Field(20_000, ge=1, description="Commits that are looked at, newest first.")
    filters: Names = filters_by_default("special-methods")


@sources.register("commits")
class CommitsSource(FolderSource[CommitsOptions]):
    """Subjects of commits that change one to three functions."""

    version = "1"

    def __init__(self, collection: str, options: CommitsOptions) -> None:
        super().__init__(collection, options)
        self._history = GitHistory(self._folder)
        self._languages = languages_of(options.languages)

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write a repository of two commits, and return the options that read it."""
        own = folder / ".git"
        (own / "objects").mkdir(parents=True)
        (own / "refs").mkdir()
        (own / "HEAD").write_text("ref: refs/heads/main\n")
        first = "def double(x):\n    return x + x\n"
        texts = {
            "Add twice a number": first,
            "Give half of it too": f"{first}\n\ndef halve(x):\n    return x / 2\n",
        }
        stream = "".join(
            _EXAMPLE.format(
                time=time, subject=subject, size=len(subject), text=text, length=len(text)
            )
            for time, (subject, text) in enumerate(texts.items(), 1)
        )
        environment = {"PATH": os.environ.get("PATH", os.defpath), "GIT_DIR": str(own)}
        subprocess.run(
            ["git", "-c", "core.logAllRefUpdates=false", "fast-import", "--quiet"],  # noqa: S607
            input=stream.encode(), env=environment, check=True, capture_output=True,
        )  # fmt: skip
        return {"path": folder}

    def inputs(self) -> list[Path]:
        """Return the files of the history."""
        return self._history.files

    def chosen(self) -> Iterable[object]:
        """Return the options, and the licence of the repository."""
        return [*super().chosen(), self.info.licence, self._history.below]

    @property
    def info(self) -> SourceInfo:
        """Origin of the history, and its newest commit."""
        return SourceInfo(
            name="commits",
            licence=licence_of_repository(self._folder),
            revision=self._history.head,
            location=self._folder.resolve().name,
        )

    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Yield subjects, each after the functions that its commit changed."""
        newest, taken = set[tuple[str, str]](), 0
        with self._history.opened() as history:
            for number, commit in enumerate(history.commits(), 1):
                if number > self._options.commits or taken == self._options.queries_at_most:
                    merged.notes.append(f"history: {NOT_READ}: all before {commit.identity[:12]}")
                    break
                touched = list(islice(self._touched(history, commit), _MOST_FUNCTIONS + 1))
                if reason := _reason_to_drop(commit, [each.own_name for each in touched]):
                    merged.dropped[reason] += 1
                    continue
                new = [each for each in touched if _key(each) not in newest]
                newest.update(map(_key, new))
                kept = [*merged.codes(new)]
                yield from kept
                if kept or len(new) < len(touched):
                    origin = f"commit {commit.identity[:12]}"
                    subjects = [*merged.queries([Query.of(one_line(commit.subject), origin)])]
                    taken += len(subjects)
                    yield from subjects

    def _touched(self, history: OpenHistory, commit: Commit) -> Iterator[CorpusFunction]:
        """Yield the functions that a commit has changed or added, as it left them."""
        if commit.files > len(commit.changes):
            return
        for change in commit.changes:
            path = PurePosixPath(change.path)
            language = self._languages.get(path.suffix)
            if language is None or not path.is_relative_to(self._history.below):
                continue
            before = {each.text for each in _functions(history, change.before, language)}
            for each in _functions(history, change.after, language):
                if each.text not in before and not each.has_error:
                    yield corpus_function(each, path, language)


def _functions(history: OpenHistory, identity: str, language: Language) -> Iterable[Function]:
    """Return the functions of a text; none where it is large or cannot be parsed."""
    text = history.text(identity) if identity else None
    try:
        return language.functions_of(language.decoded(text)) if text else ()
    except (SyntaxError, UnicodeError, LookupError):
        return ()


def _key(function: CorpusFunction) -> tuple[str, str]:
    return function.code.module, function.code.name


def _reason_to_drop(commit: Commit, names: list[str]) -> str:
    subject = one_line(commit.subject)
    words = _WORD.findall(subject.lower())
    if not names:
        return MANY if commit.files > len(commit.changes) else NO_FUNCTION
    if len(names) > _MOST_FUNCTIONS:
        return MANY
    if len(words) < _LEAST_WORDS or len(subject) > _LONGEST:
        return UNFIT
    return NAMED if {name.lower() for name in names} & {*words} else ""
