"""Filters, which decide which functions and queries a benchmark keeps, one file each.

To add one, write a file with a class that is made without arguments and has ``reason_to_drop``, and
decorate it with ``@filters.register("name")``, the name being that of the file with dashes for
underscores. One with ``reason_to_drop_query`` is asked about queries too. Every source that passes
its items through `tasks.corpus.merging.Deduplicator` takes it from then on as ``source.filters``,
and `tests/tasks/filters/test_conformance.py` tests it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from infra.languages import Function, Language, language_named
from infra.records import Code, Query
from infra.registry import Registry

SPECIAL = "constructor or special method"
NOT_FOR_LANGUAGE = "code of a language that is not read here"


class QueryReason(str):
    """A reason to drop queries or labels, and no code: it counts where the code is others', too."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CorpusFunction:
    """A function of a corpus as the filters see it.

    Attributes:
        code: Its record.
        syntax: Its parsed definition, or None where the text does not parse.
        parse_error: Why it does not parse, "" where it does.
    """

    code: Code
    syntax: Function | None
    parse_error: str = ""

    @property
    def language(self) -> Language | None:
        """Its language, Python where nothing is said of it; None where it is unknown here."""
        return language_named(self.code.language)

    @property
    def text_without_documentation(self) -> str:
        """The source without its docstring; as it is where it does not parse."""
        return self.code.text if self.syntax is None else self.syntax.text_without_documentation

    @property
    def own_name(self) -> str:
        """Its name without those of its classes, which a recursive function calls."""
        return self.code.name.rpartition(".")[2]

    @property
    def place(self) -> str:
        """Its name and where it stands, for messages."""
        return f"{self.code.name or 'a function'} ({self.code.origin or 'of no known place'})"

    def with_fields(self, **fields: object) -> "CorpusFunction":
        """Return the function with other fields of its record than the text."""
        return replace(self, code=self.code.model_copy(update=fields))


class Filter(Protocol):
    """A rule that drops functions of a corpus."""

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return why a function is dropped, or None when the rule keeps it.

        It is called once for each function, in the order of the corpus, with those functions that
        no earlier filter has dropped; so a filter may compare a function with those before it.
        The reasons are few and name no single function, since dropped functions are counted by
        them.
        """
        ...


def notes_of(rule: Filter) -> list[str]:
    """Return sentences by a filter about all that it was asked about; few filters have some."""
    return list(getattr(rule, "notes", ()))


def reason_to_drop_query(rule: Filter, query: Query) -> str | None:
    """Return why a filter drops a query, or None when it keeps it or is about functions alone."""
    ask = getattr(rule, "reason_to_drop_query", None)
    reason: str | None = ask(query) if ask else None
    return reason


filters: Registry[type[Filter]] = Registry("filter", "tasks.filters")


class FilterChain:
    """Several filters in the order of their names, made for one corpus.

    Raises:
        UnknownNameError: There is no such filter.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._filters = [filters.get(name)() for name in names]

    @property
    def notes(self) -> list[str]:
        """The filters' report on all functions that they were asked about."""
        return [note for rule in self._filters for note in notes_of(rule)]

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return the first filter's reason to drop a function, or None when all keep it."""
        reasons = (rule.reason_to_drop(function) for rule in self._filters)
        return next((reason for reason in reasons if reason is not None), None)

    def reason_to_drop_query(self, query: Query) -> str | None:
        """Return the first filter's reason to drop a query, or None when all keep it."""
        reasons = (reason_to_drop_query(rule, query) for rule in self._filters)
        return next((reason for reason in reasons if reason is not None), None)
