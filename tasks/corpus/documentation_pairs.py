"""Pairs of documentation and function: a benchmark whose labels no one had to judge.

Source: Husain et al., "CodeSearchNet Challenge" (2019): what a function's author wrote of it is
the query, and the function without its documentation is the one relevant result among all.
"""

import random
from collections import Counter

from infra.records import Code, Collected, Label, Query, SourceInfo
from tasks.corpus.functions import Found
from tasks.filters.documentation import first_paragraph, why_unpaired
from tasks.filters.duplicates import EXACT, NEAR, exact_duplicates, near_duplicates

ORIGIN = "documentation"
AMBIGUOUS = "paragraph that stands at several functions"
NOT_DRAWN = "pair that was not drawn"


def documentation_pairs(
    found: list[Found], info: SourceInfo, *, queries: int, seed: int
) -> Collected:
    """Return paragraphs of documentation as queries over all functions without documentation.

    A paragraph that stands at several functions is no query, since only one of them would be
    labelled relevant: nearly equal ones are told apart by nothing that a reader could see.

    Args:
        found: The functions of a corpus.
        info: Where they come from.
        queries: How many pairs to draw; all where there are fewer.
        seed: Decides which.
    """
    dropped: Counter[str] = Counter()
    functions = _distinct(found, dropped)
    drawn = _draw(_pairs(functions, dropped), queries, seed, dropped)
    labelled = [(Query.of(_paragraph(each), each.code.origin), _stripped(each)) for each in drawn]
    return Collected(
        info=info,
        queries=tuple(query for query, _ in labelled),
        codes=tuple(map(_stripped, functions)),
        labels=tuple(
            Label(query_id=query.query_id, code_id=code.code_id, origin=ORIGIN, relevance=1.0)
            for query, code in labelled
        ),
        dropped=dict(dropped),
    )


def _distinct(found: list[Found], dropped: Counter[str]) -> list[Found]:
    """Return functions that differ without their documentation; of equal ones a documented one."""
    documented_first = sorted(found, key=lambda each: not each.code.documentation)
    again = exact_duplicates(each.stripped for each in documented_first)
    dropped[EXACT] += len(again)
    return [each for row, each in enumerate(documented_first) if row not in again]


def _pairs(functions: list[Found], dropped: Counter[str]) -> list[Found]:
    times = Counter(map(_paragraph, functions))
    kept = []
    for function in functions:
        paragraph = _paragraph(function)
        reason = why_unpaired(function.name, paragraph, function.stripped)
        if reason is None and times[paragraph] > 1:
            reason = AMBIGUOUS
        if reason is None:
            kept.append(function)
        else:
            dropped[reason] += 1
    near = near_duplicates([function.stripped for function in kept])
    dropped[NEAR] += len(near)
    return [function for row, function in enumerate(kept) if row not in near]


def _draw(pairs: list[Found], number: int, seed: int, dropped: Counter[str]) -> list[Found]:
    in_order = sorted(pairs, key=lambda pair: pair.code.code_id)
    drawn = random.Random(seed).sample(in_order, min(number, len(in_order)))  # noqa: S311
    dropped[NOT_DRAWN] += len(pairs) - len(drawn)
    return drawn


def _paragraph(function: Found) -> str:
    return first_paragraph(function.code.documentation)


def _stripped(function: Found) -> Code:
    code = function.code
    known = code.model_dump(exclude={"code_id", "text", "documentation"})
    return Code.of(function.stripped, **known)
