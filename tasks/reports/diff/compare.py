"""Queries, codes and pairs that were added or removed, and labels that turned, with evidence."""

from collections.abc import Iterable, Mapping
from itertools import chain

from infra.records import Annotation, Execution, Record
from tasks.benchmarks import Benchmark

Pair = tuple[str, str]
_LONGEST_REASON = 600


class ProgramRun(Record):
    """A test program, how its run ended, and the error message of a run that did not pass."""

    program: str
    outcome: str
    message: str


class LabelEvidence(Record):
    """What a label rests on, in one version; empty where the export does not say.

    Attributes:
        recipe_id: Everything that could change the label.
        decided_by: The agent whose verdict it is.
        path: The path through Algorithm 1.
        reason: The agent's reason.
        runs: The test programs in the order in which they ran.
        comparison: Why another label stands than the agent's, after the query's codes were
            compared by what they do; empty where the agent's does.
    """

    recipe_id: str = ""
    decided_by: str = ""
    path: str = ""
    reason: str = ""
    runs: tuple[ProgramRun, ...] = ()
    comparison: str = ""


class Flip(Record):
    """A pair that the two versions label differently.

    Attributes:
        changed: The settings in which the recipes differ that gave the two labels; none where one
            recipe judged the pair anew, or where an export does not say.
    """

    query_id: str
    code_id: str
    query: str
    code: str
    before: float
    after: float
    evidence_before: LabelEvidence
    evidence_after: LabelEvidence
    changed: tuple[str, ...] = ()


class Difference(Record):
    """What changed from one version to another; ids in ascending order.

    Attributes:
        before: The first version's name and whose labels it has.
        after: The second version's.
        relevant: How many pairs are relevant, before and after.
        pairs_added: Labelled after and not before.
        pairs_removed: Labelled before and not after.
        now_undecided: Of those removed, the ones that the agents could not decide afterwards.
        recipe: Setting of the recipe that changed → its value before and after.
        kept: Pairs with the same label in both.
    """

    before: str
    after: str
    queries_added: tuple[str, ...]
    queries_removed: tuple[str, ...]
    codes_added: tuple[str, ...]
    codes_removed: tuple[str, ...]
    pairs_added: tuple[Pair, ...]
    pairs_removed: tuple[Pair, ...]
    now_undecided: tuple[Pair, ...]
    flips: tuple[Flip, ...]
    kept: int
    relevant: tuple[int, int]
    recipe: dict[str, tuple[object, object]]


def difference(before: Benchmark, after: Benchmark) -> Difference:
    """Return what changed between two versions of a benchmark."""
    old, new = _labels(before), _labels(after)
    removed = sorted(old.keys() - new.keys())
    undecided = {(item.query_id, item.code_id) for item in after.undecided}
    flips = _flips(before, after, old, new)
    queries, codes = _ids(before, after, "query"), _ids(before, after, "code")
    return Difference(
        before=f"{before.name}, {before.label_origin}",
        after=f"{after.name}, {after.label_origin}",
        queries_added=_missing(queries[1], queries[0]),
        queries_removed=_missing(queries[0], queries[1]),
        codes_added=_missing(codes[1], codes[0]),
        codes_removed=_missing(codes[0], codes[1]),
        pairs_added=tuple(sorted(new.keys() - old.keys())),
        pairs_removed=tuple(removed),
        now_undecided=tuple(pair for pair in removed if pair in undecided),
        flips=flips,
        kept=len(old.keys() & new.keys()) - len(flips),
        relevant=(_relevant(old), _relevant(new)),
        recipe=_changed(before.recipe or {}, after.recipe or {}),
    )


def _labels(benchmark: Benchmark) -> dict[Pair, float]:
    return {(label.query_id, label.code_id): label.relevance for label in benchmark.labels}


def _relevant(labels: Mapping[Pair, float]) -> int:
    return sum(relevance > 0 for relevance in labels.values())


def _ids(before: Benchmark, after: Benchmark, kind: str) -> tuple[set[str], set[str]]:
    if kind == "query":
        return ({q.query_id for q in before.queries}, {q.query_id for q in after.queries})
    return ({c.code_id for c in before.codes}, {c.code_id for c in after.codes})


def _missing(some: set[str], others: set[str]) -> tuple[str, ...]:
    return tuple(sorted(some - others))


def _flips(
    before: Benchmark, after: Benchmark, old: Mapping[Pair, float], new: Mapping[Pair, float]
) -> tuple[Flip, ...]:
    turned = sorted(pair for pair in old.keys() & new.keys() if old[pair] != new[pair])
    asked, answers = ({pair[place] for pair in turned} for place in (0, 1))
    texts: dict[str, str] = {
        item.query_id: item.text
        for item in chain(before.queries, after.queries)
        if item.query_id in asked
    }
    codes: dict[str, str] = {
        code.code_id: code.text
        for code in chain(before.codes, after.codes)
        if code.code_id in answers
    }
    first, second = _evidence(before, turned), _evidence(after, turned)
    old_recipes, new_recipes = _recipes(before, turned), _recipes(after, turned)
    return tuple(
        Flip(
            query_id=pair[0],
            code_id=pair[1],
            query=texts[pair[0]],
            code=codes[pair[1]],
            before=old[pair],
            after=new[pair],
            evidence_before=first.get(pair, LabelEvidence()),
            evidence_after=second.get(pair, LabelEvidence()),
            changed=tuple(_changed(old_recipes[pair], new_recipes[pair])),
        )
        for pair in turned
    )


def _recipes(benchmark: Benchmark, pairs: Iterable[Pair]) -> dict[Pair, Mapping[str, object]]:
    """Return pair → the recipe that gave its label; an empty one where that is not known."""
    by_origin: dict[str, Mapping[str, object]] = {
        benchmark.label_origin: benchmark.recipe or {},
        **{recipe.origin: recipe.body for recipe in benchmark.recipes},
    }
    wanted = set(pairs)
    return {
        (label.query_id, label.code_id): by_origin.get(label.origin, {})
        for label in benchmark.labels
        if (label.query_id, label.code_id) in wanted
    }


def _evidence(benchmark: Benchmark, pairs: Iterable[Pair]) -> dict[Pair, LabelEvidence]:
    changed = {
        (item.query_id, item.code_id, item.recipe_id): item.reason
        for item in benchmark.behaviours
        if item.agreed != item.label
    }
    return {
        item.key: _evidence_of(item, changed.get((*item.key, item.recipe_id), ""))
        for item in benchmark.evidence.of_pairs(pairs)
    }


def _evidence_of(annotation: Annotation, comparison: str) -> LabelEvidence:
    return LabelEvidence(
        recipe_id=annotation.recipe_id,
        decided_by=annotation.decided_by or "",
        path=annotation.path,
        reason=annotation.reason[:_LONGEST_REASON],
        runs=tuple(
            ProgramRun(program=run.program, outcome=run.result.outcome, message=_error_message(run))
            for run in annotation.executions
        ),
        comparison=comparison[:_LONGEST_REASON],
    )


def _error_message(run: Execution) -> str:
    kind, message = run.result.error_type, run.result.message
    return (message if message.startswith(kind) else f"{kind}: {message}")[:_LONGEST_REASON]


def _changed(
    before: Mapping[str, object], after: Mapping[str, object], prefix: str = ""
) -> dict[str, tuple[object, object]]:
    changed: dict[str, tuple[object, object]] = {}
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            changed |= _changed(old, new, f"{prefix}{key}.")
        elif old != new:
            changed[f"{prefix}{key}"] = (old, new)
    return changed
