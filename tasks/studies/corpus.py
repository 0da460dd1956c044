"""The collection: numbers of queries and functions before and after the filters."""

from collections.abc import Sequence

from tasks.corpus import written
from tasks.corpus.documentation_pairs import AMBIGUOUS, NOT_DRAWN
from tasks.corpus.functions import OF_FILES
from tasks.corpus.merging import (
    CONFLICT,
    LABEL_ELSEWHERE,
    LABEL_OF_DROPPED,
    REPEATED_LABEL,
    REPEATED_QUERY,
)
from tasks.filters.technical_keywords import KEYWORD
from tasks.sources import commits
from tasks.sources.codesearchnet import NO_QUERY
from tasks.studies import Evidence, Figure, studies

_OF_QUERIES = {
    REPEATED_QUERY, NO_QUERY, AMBIGUOUS, NOT_DRAWN, KEYWORD,
    commits.NO_FUNCTION, commits.MANY, commits.UNFIT, commits.NAMED,
    written.UNREAD, written.UNFIT, written.ABOUT, written.NAMED, written.REPEATED, written.GENERAL,
}  # fmt: skip
_OF_LABELS = {CONFLICT, REPEATED_LABEL, LABEL_OF_DROPPED, LABEL_ELSEWHERE}
_OF_OTHERS = _OF_QUERIES | _OF_LABELS | OF_FILES  # than functions


@studies.register("corpus")
def corpus(evidence: Evidence) -> Sequence[Figure]:
    """Return the number of queries, of functions read and kept, and of each reason to drop.

    Functions by language, with and without documentation, have columns of their own, as in the
    table of CodeSearchNet's corpus (arXiv 1909.09436).
    """
    facts = evidence.collection
    left_out = (number for rule, number in facts.dropped.items() if rule not in _OF_OTHERS)
    items = {
        "queries": facts.queries,
        "functions read": facts.codes + sum(left_out),
        "functions kept": facts.codes,
        **{f"dropped: {rule}": number for rule, number in facts.dropped.items()},
    }
    figures = [Figure(row=row, column="items", value=number) for row, number in items.items()]
    documented, others = map(sum, zip((0, 0), *facts.documented.values(), strict=True))
    counts = facts.documented | {"all languages": (documented, others)}
    return figures + [
        Figure(row=f"functions in {language}", column=column, value=number)
        for language, (documented, others) in counts.items()
        for column, number in (("with documentation", documented), ("all", documented + others))
    ]
