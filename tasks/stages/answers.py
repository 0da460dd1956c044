"""Written answers to queries without a match, as part of a benchmark."""

from collections.abc import Sequence
from typing import Literal

from infra.ids import CodeId, PairKey, QueryId, RecipeId
from infra.records import Code, Label
from infra.store import Database, annotations, generated
from infra.store.generated import GeneratedCode
from tasks.benchmarks import Benchmark
from tasks.benchmarks.benchmark import is_generated

Which = Literal["none", "confirmed", "verified"]


def with_stored_answers(
    database: Database, benchmark: Benchmark, collection: str, which: Which
) -> Benchmark:
    """Return a benchmark with a collection's written answers, and the evidence for them."""
    answers = generated.load_answers(database, collection)
    return _with_evidence(database, with_answers(benchmark, answers, which), answers)


def with_answers(
    benchmark: Benchmark,
    answers: Sequence[GeneratedCode],
    which: Which,
) -> Benchmark:
    """Return a benchmark with written answers to its queries, each a code and a pair of label 1.

    An answer that a person refused takes no part, nor does a pair that is judged without it. It
    stays when its query gets a match later: a published pair is not taken back.

    Args:
        benchmark: The labels of the agents.
        answers: The answers to the collection's queries.
        which: None, those that people confirmed, or all that the agents verified.
    """
    queries = {query.query_id for query in benchmark.queries}
    judged = {label.key for label in benchmark.labels}
    judged |= {PairKey(QueryId(u.query_id), CodeId(u.code_id)) for u in benchmark.undecided}
    added = {
        PairKey(item.query_id, item.code_id): item
        for item in answers
        if item.query_id in queries
        and not item.is_refused
        and (which == "verified" or (which == "confirmed" and item.confirmed))
    }
    new = [item for pair, item in added.items() if pair not in judged]
    held = {code.code_id for code in benchmark.codes}
    codes = {
        item.code_id: Code(code_id=item.code_id, text=item.code, origin=item.origin)
        for item in new
        if item.code_id not in held
    }
    pairs = [
        Label(query_id=item.query_id, code_id=item.code_id, origin=item.origin, relevance=1.0)
        for item in new
    ]
    return benchmark.model_copy(
        update={
            "codes": (*benchmark.codes, *codes.values()),
            "labels": (*benchmark.labels, *pairs),
        }
    )


def _with_evidence(
    database: Database, benchmark: Benchmark, answers: Sequence[GeneratedCode]
) -> Benchmark:
    """Return a benchmark with the evidence of the agents that verified its written answers."""
    exported = {label.key for label in benchmark.labels if is_generated(label)}
    verified: dict[RecipeId, list[PairKey]] = {}
    for item in answers:
        pair = PairKey(item.query_id, item.code_id)
        if pair in exported:
            verified.setdefault(RecipeId(item.recipe_id), []).append(pair)
    evidence = [
        item
        for recipe_id, pairs in verified.items()
        for item in annotations.load_annotations(database, recipe_id, pairs)
    ]
    return benchmark.model_copy(update={"evidence": (*benchmark.evidence, *evidence)})
