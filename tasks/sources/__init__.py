"""Sources of queries, functions and annotators' labels, one file each.

A source reads and checks files and runs nothing: the code of a corpus is parsed, never imported.
Which of its functions a benchmark keeps is decided by filters (`tasks.filters`).

To add one, write a file with a subclass of `Source` or `FolderSource`, which names in brackets its
options, a subclass of `SourceOptions`, and decorate it with ``@sources.register("name")``, the name
being that of the file with dashes for underscores. Its options are keys of the settings' section
``source``, and on the command line ``--set source.KEY=VALUE``. ``items`` passes what it reads
through `tasks.corpus.merging.Deduplicator`, which applies the filters and drops repeated items, one
by one: the input may be larger than memory. `tasks.inputs` reads files of each form, a row as a
model of its keys; `tasks.corpus.functions.parse_function` makes a function of a text; a label has
an origin, such as ``people:jsonl``. ``staqc.py`` is a short example.
`tests/tasks/sources/test_conformance.py` tests it from then on, on what ``write_example`` writes.
"""

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from infra.collected import Content, Item
from infra.errors import SettingsError, UnknownNameError
from infra.identity import mark, mark_of
from infra.records import SourceInfo
from infra.registry import Registry, unknown_name
from infra.settings import SourceSettings
from tasks.corpus.merging import CombinedSource, Component, Deduplicator, QueriesFile, Readable
from tasks.corpus.written import WrittenOptions, WrittenQueries
from tasks.filters import FilterChain, filters
from tasks.inputs.text import printable, require_folder, state_of


def split_names(value: object) -> object:
    """Return the names of a text, a JSON list or names with commas between, as a list."""
    return re.findall(r"[\w-]+", value) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(split_names)]
Languages = Annotated[
    Names, Field(description="Languages that are read, such as go,java; none named reads all.")
]


def filters_by_default(*names: str, more: str = "") -> Any:  # noqa: ANN401 - as pydantic's Field
    """Return the field of a source's filters, with other ones than none where none are given."""
    about = f"Filters that drop functions, in their order: {', '.join(filters.names())}."
    return Field(names, description=f"{about}{more}")


class SourceOptions(BaseModel):
    """Options that every source has; a source adds its own, or other filters by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    filters: Names = filters_by_default()

    @field_validator("*")
    @classmethod
    def _is_text(cls, value: object) -> object:
        if isinstance(value, Path) and printable(value) != str(value):
            raise ValueError(f"the name {printable(value)} is not UTF-8: rename the file or folder")
        return value


OptionsType = TypeVar("OptionsType", bound=SourceOptions)


class Source(ABC, Generic[OptionsType]):
    """A source, which is read into collections.

    Args:
        collection: Name of the main collection.
        options: What to read, an instance of the class's ``Options``.

    Attributes:
        Options: The model of its options.
        version: To be raised when the same files are to give other records.

    Raises:
        SettingsError: Options contradict each other.
        SourceError: The input is not there.
    """

    Options: ClassVar[type[SourceOptions]]
    version: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Take the model of options that a source names in brackets."""
        super().__init_subclass__()
        bases = vars(cls).get("__orig_bases__", ())
        for kind in chain.from_iterable(map(get_args, bases)):
            if isinstance(kind, type) and issubclass(kind, SourceOptions):
                cls.Options = kind

    def __init__(self, collection: str, options: OptionsType) -> None:
        self._name = collection
        self._options = options

    @property
    @abstractmethod
    def info(self) -> SourceInfo:
        """Origin and licence of its items, by the source's name."""

    @classmethod
    @abstractmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write a small valid input into an empty folder and return the options that read it."""

    @abstractmethod
    def inputs(self) -> Sequence[Path]:
        """Return the files that are read, also those that are missing.

        Raises:
            SourceError: It cannot be said which they are.
        """

    def chosen(self) -> Iterable[object]:
        """Return the options that change the content next to the files: all that name no file."""
        options = self._options.model_dump(mode="json")
        paths = {name for name, value in self._options if isinstance(value, Path)}
        return [(name, value) for name, value in options.items() if name not in paths]

    def fingerprint(self) -> str:
        """Return a digest that changes whenever what `read` would give changes.

        Cheap: it looks at the names, sizes and times of files, not into them.

        Raises:
            SourceError: An input file is missing.
        """
        state = state_of(self.inputs())
        return mark(self.info.name, self.version, self._name, state, mark_of([*self.chosen()]))

    def read(self) -> Mapping[str, Content]:
        """Return collection name → content.

        The first is the main collection, whose candidates the agents annotate; the names of the
        others begin with its name. Functions that a filter drops are counted by reason in
        ``dropped``. The contents are read in this order, each once; they may be read from files
        only then, and raise what they find.

        Raises:
            SourceError: An input file is missing or malformed; the message names file and line.
        """
        return {self._name: self.main()}

    def main(self) -> Content:
        """Return the content of the main collection; no other is made."""
        return self.content(self.items)

    def content(self, items: Callable[[Deduplicator], Iterable[Item]]) -> Content:
        """Return the content of a collection, which is read when its items are asked for."""
        merged = Deduplicator(FilterChain(self._options.filters))
        return merged.streamed(self.info, items(merged))

    @abstractmethod
    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Yield the main collection's items, passed through an object that filters and merges.

        Raises:
            SourceError: As `read`.
        """


class FolderOptions(SourceOptions):
    """Options of a source of files in one folder."""

    path: Path


FolderOptionsType = TypeVar("FolderOptionsType", bound=FolderOptions)


class FolderSource(Source[FolderOptionsType]):
    """A source of files in one folder, which must be there."""

    def __init__(self, collection: str, options: FolderOptionsType) -> None:
        super().__init__(collection, options)
        self._folder = require_folder(options.path)


WRITTEN = "written"  # of --queries: a model writes them for functions of the codes

_FLAGS = ("path", "distribution", "queries")  # options of sources that the command line has too

sources: Registry[type[Source[Any]]] = Registry("source", "tasks.sources")


class SourceRef(NamedTuple):
    """A source that queries or codes are taken from, NAME[=PATH] in the settings.

    Attributes:
        name: Its name.
        source: Its own settings.
    """

    name: str
    source: SourceSettings

    @classmethod
    def of(cls, text: object, whole: SourceSettings) -> "SourceRef | None":
        """Return the source that a text names; None where it names none, but maybe a file."""
        name, _, path = str(text).partition("=")
        if name not in sources.names():
            return None
        options = dict(whole.options_of_parts.get(name, {}))
        if path:
            options["path"] = path
        elif "path" in whole.options and issubclass(sources.get(name), FolderSource):
            options.setdefault("path", whole.options["path"])
        return cls(name, SourceSettings.model_validate({"name": name, **options}))

    def open(self) -> Source[Any]:
        """Return the source of this part; errors as of `open_source`."""
        return _open(self.source, self.name)


class SourceRefs(NamedTuple):
    """The sources of queries and of codes; None and none where the one source gives them."""

    queries: SourceRef | None
    codes: Sequence[SourceRef]

    @classmethod
    def of(cls, source: SourceSettings) -> "SourceRefs":
        """Return the parts that the settings name.

        Raises:
            UnknownNameError: There is no such source, or options of an unknown one.
            SettingsError: Options of a source that is not chosen.
        """
        codes = [(text, SourceRef.of(text, source)) for text in source.codes]
        for text, part in codes:
            if part is None:
                sources.get(text.partition("=")[0])
        asked = str(source.options.get("queries", ""))
        queries = SourceRef.of(asked, source)
        name, is_named, _ = asked.partition("=")
        is_meant = is_named or get_close_matches(name, [*sources.names(), WRITTEN], 1)
        is_file = "/" in name or Path(name).suffix or Path(asked).exists()
        if queries is None and is_meant and not is_file and asked != WRITTEN:
            asked = asked if name == WRITTEN else name
            raise UnknownNameError(unknown_name("source", asked, [*sources, WRITTEN]))
        parts = cls(queries, tuple(part for _, part in codes if part))
        chosen = {part.name for part in (*parts.codes, queries) if part}
        chosen |= {WRITTEN} if asks_written(source) else set()
        for name in source.options_of_parts:
            if name not in chosen:
                if name != WRITTEN:
                    sources.get(name)
                raise SettingsError(
                    f"source.{name} has options, but {name} is chosen neither by source.queries "
                    "nor by source.codes"
                )
        return parts


def open_source(source: SourceSettings) -> Readable:
    """Return the source that the settings name, or several put together; options are checked.

    Raises:
        UnknownNameError: There is no such source or filter.
        SettingsError: An option is missing, unknown or has a bad value.
        SourceError: The input is not there.
    """
    parts = SourceRefs.of(source)
    codes = _codes_of(source, parts)
    name = source.name
    queries: Component = codes[0]
    if asks_written(source):
        name, queries = WRITTEN, written_queries(source)
    elif parts.queries:
        name, queries = parts.queries.name, parts.queries.open()
    elif parts.codes:
        file = source.options.get("queries")
        queries = QueriesFile(Path(str(file))) if file else _open(source)
    elif len(codes) == 1:
        return codes[0]
    names = dict.fromkeys((name, *(part.name for part in parts.codes)))
    return CombinedSource(source.collection or "-".join(names), queries, codes)


def _codes_of(source: SourceSettings, parts: SourceRefs) -> list[Source[Any]]:
    """Return the sources that code is read from; of several distributions one for each."""
    if parts.codes:
        return [part.open() for part in parts.codes]
    others = {"codes", *source.options_of_parts, "queries"}
    is_of_codes = parts.queries or asks_written(source)
    given = source.model_dump(exclude=others if is_of_codes else None)
    named = source.options.get("distribution")
    if named and isinstance(named, list | tuple):
        given |= {"documentation_queries": 0} if len(named) > 1 else {}
        each = [given | {"distribution": name} for name in dict.fromkeys(named)]
    else:
        each = [given]
    return [_open(SourceSettings.model_validate(one)) for one in each]


def asks_written(source: SourceSettings) -> bool:
    """Return True if a model is to write the queries."""
    return source.options.get("queries") == WRITTEN


def lacks_written(source: SourceSettings) -> bool:
    """Return True if a model is to write the queries, and has not yet or is to again."""
    return asks_written(source) and (source.reread or not written_queries(source).file.is_file())


def written_queries(source: SourceSettings) -> WrittenQueries:
    """Return the queries that a model writes for the functions of the settings' codes.

    Raises:
        SettingsError: An option has a bad value, or is none; and as `open_source`.
    """
    try:
        options = WrittenOptions.model_validate(source.options_of_parts.get(WRITTEN, {}))
    except ValidationError as error:
        problems = (
            f"source.{WRITTEN}.{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in error.errors()
        )
        known = ", ".join(WrittenOptions.model_fields)
        raise SettingsError(f"{'; '.join(problems)}. Its options: {known}") from None
    codes = _codes_of(source, SourceRefs.of(source))

    def items() -> Iterator[Item]:
        for code in codes:
            yield from code.main().items()

    return WrittenQueries(options, [code.fingerprint() for code in codes], items)


def place_written(source: SourceSettings, folder: Path, top_k: int) -> SourceSettings:
    """Return a source whose written queries, if any, are in a folder and fit no more functions."""
    if not asks_written(source):
        return source
    own = {"top_k": top_k, **source.options_of_parts.get(WRITTEN, {}), "folder": folder}
    given = source.model_dump(exclude_unset=True)
    return SourceSettings.model_validate(given | {WRITTEN: own})


def _open(source: SourceSettings, part: str = "") -> Source[Any]:
    options = check_options(source)
    if options is not None:
        return sources.get(source.name)(source.collection or source.name, options)
    lines = []
    for name, field in sources.get(source.name).Options.model_fields.items():
        if field.is_required() and name not in source.options:
            flag = f"--{name} VALUE" if name in _FLAGS else f"--set source.{name}=VALUE"
            if part:
                flag = (
                    f"{part}=PATH to --queries or --codes"
                    if name == "path"
                    else f"--set source.{part}.{name}=VALUE"
                )
            lines.append(f"source {source.name} needs {name!r}: give {flag} ({field.description})")
    raise SettingsError("\n".join(lines))


def check_options(source: SourceSettings) -> SourceOptions | None:
    """Return the options of the source that the settings name; None where one is yet to be given.

    Raises:
        UnknownNameError: There is no such source or filter.
        SettingsError: An option is unknown or has a bad value.
    """
    model = sources.get(source.name).Options
    try:
        options = model.model_validate(source.options)
    except ValidationError as error:
        problems = []
        for problem in error.errors():
            option = ".".join(map(str, problem["loc"]))
            if problem["type"] == "extra_forbidden":
                close = difflib.get_close_matches(option, model.model_fields, 1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                given = f"(given: {option}={source.options[option]})"
                problems.append(f"source {source.name} has no option {option!r} {given}{hint}")
            elif problem["type"] != "missing":
                problems.append(f"source.{option}: {problem['msg']}")
        if not problems:
            return None
        text = "; ".join(problems)
        end = "" if text.endswith("?") else "."
        raise SettingsError(f"{text}{end} Its options: {', '.join(model.model_fields)}") from None
    for name in options.filters:
        filters.get(name)
    return options
