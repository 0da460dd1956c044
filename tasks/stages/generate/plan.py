"""The queries without a match, and the state of each.

A query has no match when agents have finished all its candidates and label none 1.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from infra.identity import PairKey, QueryId
from infra.records import Record
from infra.settings import GenerationSettings
from infra.store import Database, candidates, generated
from infra.store.generated import GeneratedCode
from infra.store.labels import decide_labels
from tasks.runtime.references import CollectedSource
from tasks.stages.labels import labels_of_agents

State = Literal["confirmed", "waiting", "given up", "open"]


class GenerationPlan(Record):
    """Numbers of the queries without a match by their state.

    Attributes:
        collection: The queries' collection.
        without_match: Number of queries without a match.
        confirmed: Number with an answer that people confirmed.
        waiting: Number with a verified answer that nobody has confirmed yet.
        given_up: Number whose last answers were all refused, as often as the settings allow.
        to_write: Number that the next run writes answers to.
    """

    collection: str
    without_match: int = 0
    confirmed: int = 0
    waiting: int = 0
    given_up: int = 0
    to_write: int = 0


def plan_generation(
    database: Database, source: CollectedSource, model: str, settings: GenerationSettings
) -> GenerationPlan:
    """Count the queries without a match by their state."""
    collection = source.main.name
    queries = queries_without_match(database, source)
    answers = answers_by_query(database, collection)
    states = [state_of(answers.get(query, ()), model, settings.max_tries) for query in queries]
    to_write = states.count("open")
    return GenerationPlan(
        collection=collection,
        without_match=len(queries),
        confirmed=states.count("confirmed"),
        waiting=states.count("waiting"),
        given_up=states.count("given up"),
        to_write=min(to_write, settings.limit or to_write),
    )


def queries_without_match(database: Database, source: CollectedSource) -> list[QueryId]:
    """Return the queries whose candidates are all finished and none of them labelled 1, in order.

    The current labels count, with labelling rounds the majority's. Candidates that were left
    undecided are finished; queries without candidates have nothing that was judged, and are left
    out.
    """
    labels = labels_of_agents(database, source)
    if labels is None or labels.current is None:
        return []
    judged = decide_labels(database, labels.current)
    relevance_of: dict[PairKey, float | None] = {
        PairKey(row["query_id"], row["code_id"]): row.get("relevance")
        for table in (judged.labels, judged.undecided)
        for row in table.to_pylist()
    }
    matched: dict[QueryId, bool] = {}
    for pair in candidates.pairs_of(database, labels.searches, source.main.name):
        may_match = relevance_of.get(pair, 1) == 1
        matched[pair.query_id] = matched.get(pair.query_id, False) or may_match
    return [query for query, has_match in matched.items() if not has_match]


def answers_by_query(
    database: Database, collection: str
) -> Mapping[QueryId, Sequence[GeneratedCode]]:
    """Return the answers to each of a collection's queries, oldest first."""
    answers: dict[QueryId, list[GeneratedCode]] = {}
    for item in generated.load_answers(database, collection):
        answers.setdefault(item.query_id, []).append(item)
    return answers


def state_of(answers: Sequence[GeneratedCode], model: str, max_tries: int) -> State:
    """Return the state of a query with these answers, oldest first.

    A model is given up after some refused answers, counted anew from a person's refusal on.
    """
    accepted = [item for item in answers if not item.is_refused]
    if accepted:
        return "confirmed" if any(item.confirmed for item in accepted) else "waiting"
    tries = 0
    for item in answers:
        by_model = item.status == "refused" and item.model == model
        tries = 0 if item.confirmed is False else tries + by_model
    return "open" if tries < max_tries else "given up"
