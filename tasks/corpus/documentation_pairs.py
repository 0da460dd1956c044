"""Pairs of documentation and function: a benchmark whose labels need no annotator.

Source: Husain et al., "CodeSearchNet Challenge" (2019): what a function's author wrote of it is
the query, and the function without its documentation is the one relevant result among all. As
there, near duplicates are left out of what is searched: they would be right answers counted wrong.
"""

import random
from collections import Counter
from typing import NamedTuple, Self

from infra.collected import Collected
from infra.identity import mark
from infra.languages import language_named
from infra.records import Code, Label, Query, SourceInfo
from tasks.benchmarks.splits import repository_of, split_repositories
from tasks.corpus.merging import REPEATED_CODE
from tasks.filters import CorpusFunction, QueryReason, filters, notes_of
from tasks.filters.documentation import first_paragraph, unpaired_reason

ORIGIN = "documentation"
AMBIGUOUS = QueryReason("paragraph that documents several functions")
NOT_DRAWN = QueryReason("pair that was not drawn")

_RATIO = "8:1:1"  # of training, dev and test queries


class DocumentedFunction(NamedTuple):
    """A function apart from the first paragraph of its documentation.

    Attributes:
        code: The function without documentation.
        paragraph: The first paragraph, "" where there is no documentation.
        documented_id: Id of the function with its documentation, by which pairs are drawn.
    """

    code: Code
    paragraph: str
    documented_id: str

    @classmethod
    def of(cls, function: CorpusFunction) -> Self:
        """Return a function and its documentation apart."""
        known = function.code.model_dump(exclude={"code_id", "text", "documentation"})
        code = Code.of(function.text_without_documentation, **known)
        paragraph = first_paragraph(function.code.documentation)
        return cls(code, paragraph, function.code.code_id)

    @property
    def unpaired_reason(self) -> str | None:
        """The rule by which its paragraph can be no query, None where it can."""
        return unpaired_reason(self.code, self.paragraph, self.code.text)


def documentation_pairs(
    functions: list[DocumentedFunction],
    info: SourceInfo,
    *,
    queries: int,
    seed: int | None,
    dropped: Counter[str],
    by_repository: bool = False,
) -> Collected:
    """Return paragraphs of documentation as queries over functions without documentation.

    Of near duplicates one is searched, one that can be a pair before others. A paragraph that
    documents several functions is no query, since only one of them would be labelled relevant.

    Args:
        functions: The functions of a corpus.
        info: Where they come from.
        queries: How many pairs to draw of each language; all where there are fewer.
        seed: Decides which; None takes the first.
        dropped: Reason → number of items of the corpus that were dropped before.
        by_repository: Whether the functions' repositories are split, as CodeSearchNet's are.
    """
    dropped = Counter(dropped)
    notes: list[str] = []
    distinct = _distinct(functions, dropped, notes)
    pairs = _pairs(distinct, dropped)
    drawn = _chosen(pairs, queries, seed)
    dropped[NOT_DRAWN] += len(pairs) - len(drawn)
    homes = {pair.documented_id: repository_of(pair.code) for pair in drawn if by_repository}
    parts = split_repositories(homes, _RATIO, seed or 0) if by_repository else {}
    labelled = [
        (Query.of(pair.paragraph, pair.code.origin, parts.get(pair.documented_id, "")), pair.code)
        for pair in drawn
    ]
    return Collected(
        info=info,
        queries=tuple(query for query, _ in labelled),
        codes=tuple(function.code for function in distinct),
        labels=tuple(
            Label(query_id=query.query_id, code_id=code.code_id, origin=ORIGIN, relevance=1.0)
            for query, code in labelled
        ),
        dropped=dict(+dropped),
        notes=tuple(notes),
    )


def _distinct(
    functions: list[DocumentedFunction], dropped: Counter[str], notes: list[str]
) -> list[DocumentedFunction]:
    """Return functions that are no near duplicates; of such the first that can be a pair.

    Of functions with too few names to be compared, those of one canonical form are equal.
    """
    by_form: dict[str, DocumentedFunction] = {}
    for function in sorted(functions, key=lambda one: one.unpaired_reason is not None):
        code = function.code
        language = language_named(code.language)
        form = mark(language.name, language.canonical(code.text)) if language else code.code_id
        by_form.setdefault(form, function)
    dropped[REPEATED_CODE] += len(functions) - len(by_form)
    near_duplicates = filters.get("near-duplicates")()
    kept = []
    for function in by_form.values():
        if reason := near_duplicates.reason_to_drop(CorpusFunction(function.code, None)):
            dropped[reason] += 1
        else:
            kept.append(function)
    notes += notes_of(near_duplicates)[:-1]  # here they have to go, whatever a setting says
    return kept


def _pairs(functions: list[DocumentedFunction], dropped: Counter[str]) -> list[DocumentedFunction]:
    times = Counter(function.paragraph for function in functions)
    kept = []
    for function in functions:
        reason = function.unpaired_reason
        if reason is None and times[function.paragraph] > 1:
            reason = AMBIGUOUS
        if reason is None:
            kept.append(function)
        else:
            dropped[reason] += 1
    return kept


def _chosen(
    pairs: list[DocumentedFunction], number: int, seed: int | None
) -> list[DocumentedFunction]:
    """Return pairs of each language: the first, or with a seed a sample."""
    by_language: dict[str, list[DocumentedFunction]] = {}
    ordered = pairs if seed is None else sorted(pairs, key=lambda pair: pair.documented_id)
    for pair in ordered:
        by_language.setdefault(pair.code.language, []).append(pair)
    return [
        pair
        for _, some in sorted(by_language.items())
        for pair in (
            some[:number]
            if seed is None
            else random.Random(seed).sample(some, min(number, len(some)))  # noqa: S311
        )
    ]
