"""Specifications of queries, from the stored calls of the agents that wrote them."""

from collections import defaultdict
from collections.abc import Iterator

from agents.committee.specified import account_of
from agents.llm.structured_output import read
from agents.roles.specify import Specification, Specifier, best_of
from infra.records import Annotation
from infra.store import Database
from infra.store.labels import CurrentLabels, replies_on_queries
from tasks.benchmarks import QuerySpecification
from tasks.reports.evidence import ClaimLine, SpecifiedPart
from tasks.reports.text import counted
from tasks.runtime.progress import get_run_logger


def specifications_of(database: Database, labels: CurrentLabels) -> list[QuerySpecification]:
    """Return the specifications on which labels rest, ascending by query and recipe.

    A query has one for each recipe that judged candidates of it by one: of two replies the one by
    which they were judged. A reply to another release's prompt, which had other fields, is left out
    with a warning.
    """
    found, unreadable = defaultdict[tuple[str, str], dict[Specification, str]](dict), 0
    for stored in replies_on_queries(database, labels, Specifier.role):
        try:
            specification = read(stored.reply, Specification)
        except ValueError:
            unreadable += 1
            continue
        found[stored.query_id, stored.recipe_id].setdefault(specification, stored.model)
    if unreadable:
        get_run_logger().warning(
            "left out, with the fields of another release: %s",
            counted(unreadable, "specifications"),
        )
    return [
        _as_exported(used := best_of(models), query_id, recipe_id, models[used])
        for (query_id, recipe_id), models in found.items()
    ]


def _as_exported(
    specification: Specification, query_id: str, recipe_id: str, model: str
) -> QuerySpecification:
    """Return a specification in the form of exports and pages: each part line by line."""
    return QuerySpecification(
        query_id=query_id,
        recipe_id=recipe_id,
        model=model,
        reading=specification.reading.strip(),
        demands=tuple(_lines(specification.demands)),
        left_open=tuple(_lines(specification.left_open)),
        examples=tuple(map(str, specification.claims)),
        clarity=specification.clarity,
        is_underspecified=specification.clarity == "underspecified",
        cannot_show=specification.cannot_show,
    )


def specified_part(annotation: Annotation) -> SpecifiedPart | None:
    """Return a page's content for a pair judged by a specification, None for others."""
    account = account_of(annotation)
    if account is None:
        return None
    screening = account.screening
    return SpecifiedPart(
        specification=_as_exported(
            account.specification, annotation.query_id, annotation.recipe_id, account.model
        ),
        verdict=screening.verdict if screening else "",
        adapter=screening.adapter.strip() if screening else "",
        claims=tuple(
            ClaimLine(
                call=item.claim.arguments,
                expected=item.claim.value,
                outcome=item.run.outcome if item.run else "not_run",
                actual=item.run.gave if item.run else "",
                oracle=item.read,
                counts=item.counts,
            )
            for item in account.claims
        ),
    )


def _lines(text: str) -> Iterator[str]:
    return (line.strip().removeprefix("- ") for line in text.splitlines() if line.strip())
