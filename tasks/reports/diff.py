"""Comparison of two versions of a benchmark: what changed, with evidence, and methods' scores."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from infra.records import Annotation, Record
from tasks.benchmarks import Benchmark
from tasks.reports.document import Block, Code, Document, Items, Paragraph, Section, Table
from tasks.reports.leaderboard import Leaderboard, Values
from tasks.reports.text import format_words
from tasks.statistics.comparisons import randomisation_test

Pair = tuple[str, str]
_LONGEST_REASON = 600
_SHOWN = 50
_LINES = 12


class Flip(Record):
    """A pair that the two versions label differently.

    Attributes:
        evidence_before: What the first label rests on; None where the export does not say.
        evidence_after: Likewise of the second.
    """

    query_id: str
    code_id: str
    query: str
    code: str
    before: float
    after: float
    evidence_before: Annotation | None
    evidence_after: Annotation | None


class Difference(Record):
    """The changes from one version to another; ids in ascending order.

    Attributes:
        before: The first version's name and whose labels it has.
        after: The second version's.
        relevant: How many pairs are relevant, before and after.
        pairs_added: Labelled after and not before.
        pairs_removed: Labelled before and not after.
        now_undecided: Of those removed, the ones that the agents could not decide afterwards.
        recipe: Setting of the recipe that changed → its value before and after.
        kept: Pairs with the same label in both.
        sealed: The versions, "first" and "second", whose labels are sealed.
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
    sealed: tuple[str, ...] = ()


def difference(before: Benchmark, after: Benchmark) -> Difference:
    """Return the changes between two versions of a benchmark."""
    old, new = _labels(before), _labels(after)
    removed = sorted(old.keys() - new.keys())
    undecided = {(item.query_id, item.code_id) for item in after.undecided}
    flips = _flips(before, after, old, new)
    old_queries, new_queries = ({q.query_id for q in one.queries} for one in (before, after))
    old_codes, new_codes = ({code.code_id for code in one.codes} for one in (before, after))
    return Difference(
        before=f"{before.name}, {before.label_origin}",
        after=f"{after.name}, {after.label_origin}",
        queries_added=tuple(sorted(new_queries - old_queries)),
        queries_removed=tuple(sorted(old_queries - new_queries)),
        codes_added=tuple(sorted(new_codes - old_codes)),
        codes_removed=tuple(sorted(old_codes - new_codes)),
        pairs_added=tuple(sorted(new.keys() - old.keys())),
        pairs_removed=tuple(removed),
        now_undecided=tuple(pair for pair in removed if pair in undecided),
        flips=flips,
        kept=len(old.keys() & new.keys()) - len(flips),
        relevant=(
            sum(value > 0 for value in old.values()),
            sum(value > 0 for value in new.values()),
        ),
        recipe=_changed(before.recipe or {}, after.recipe or {}),
        sealed=tuple(name for name, one in (("first", before), ("second", after)) if one.sealed),
    )


def _labels(benchmark: Benchmark) -> dict[Pair, float]:
    return {(label.query_id, label.code_id): label.relevance for label in benchmark.labels}


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
    first: dict[Pair, Annotation] = {item.key: item for item in before.evidence.of_pairs(turned)}
    second: dict[Pair, Annotation] = {item.key: item for item in after.evidence.of_pairs(turned)}
    return tuple(
        Flip(
            query_id=pair[0],
            code_id=pair[1],
            query=texts[pair[0]],
            code=codes.get(pair[1], ""),  # a judged code may not be in the corpus
            before=old[pair],
            after=new[pair],
            evidence_before=first.get(pair),
            evidence_after=second.get(pair),
        )
        for pair in turned
    )


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


class ScoreChange(Record):
    """A method's mean in a metric in both versions.

    Attributes:
        queries: How many queries both versions score.
        shared: Change of the mean over the queries that both versions score.
        p_value: Of that change, by a paired randomisation test.
    """

    method: str
    metric: str
    before: float
    after: float
    queries: int
    shared: float
    p_value: float


def score_changes(
    before: Leaderboard, after: Leaderboard, old: Values, new: Values
) -> tuple[ScoreChange, ...]:
    """Return the differences of methods' scores between two leaderboards.

    A method has none where no query is scored in both versions.
    """
    later = {row.method: row for row in after.rows}
    changes = []
    for row in before.rows:
        for metric in before.metrics:
            first, second = old[row.method][metric], new[row.method][metric]
            shared = sorted(first.keys() & second.keys())
            if not shared:
                continue
            differences = np.array([second[query] - first[query] for query in shared], np.float64)
            changes.append(
                ScoreChange(
                    method=row.method,
                    metric=metric,
                    before=row.cells[metric].mean,
                    after=later[row.method].cells[metric].mean,
                    queries=len(shared),
                    shared=float(differences.mean()),
                    p_value=float(randomisation_test(differences[None, :])[0]),
                )
            )
    return tuple(changes)


def difference_document(change: Difference, scores: Sequence[ScoreChange] = ()) -> Document:
    """Return the counts, the recipe's changes, the first turned labels, the methods' scores."""
    counts = [
        ("queries", f"{len(change.queries_added):,}", f"{len(change.queries_removed):,}"),
        ("codes", f"{len(change.codes_added):,}", f"{len(change.codes_removed):,}"),
        ("labelled pairs", f"{len(change.pairs_added):,}", f"{len(change.pairs_removed):,}"),
    ]
    before, after = change.relevant
    labels = (
        f"labels: {len(change.flips):,} turned, {change.kept:,} kept, "
        f"{len(change.now_undecided):,} now undecided; {before:,} relevant before, {after:,} after"
    )
    rows = [(part, _value(old), _value(new)) for part, (old, new) in change.recipe.items()]
    recipe = Table(("setting", "before", "after"), rows, text_columns=3, empty="The same.")
    return Document(
        kind="Difference",
        title=f"{change.before} → {change.after}",
        lead=(Table(("what", "added", "removed"), counts), labels, *_sealed(change)),
        sections=[
            Section("recipe", "Changes of the settings", [recipe]),
            Section("turned", "Labels that turned", list(_turned(change))),
            Section("scores", "Effect on the methods", score_blocks(scores) if scores else []),
        ],
    )


def _sealed(change: Difference) -> Iterator[Block]:
    """Yield of each version whose labels are sealed that they count as none here."""
    for version in change.sealed:
        yield (
            f"The {version} version's labels are sealed: its folder lacks those of the test part, "
            "which count as none here."
        )


def _turned(change: Difference) -> Iterator[Block]:
    """Yield the first labels that turned, each with its code and the evidence of both versions."""
    for flip in change.flips[:_SHOWN]:
        yield Paragraph(f"{flip.before:g} → {flip.after:g}: {flip.query}", "h3")
        lines = flip.code.splitlines()
        cut = ["..."] if len(lines) > _LINES else []
        yield Code("\n".join(lines[:_LINES] + cut))
        before, after = (
            "; ".join(_parts(one)) if one else "no evidence in the export"
            for one in (flip.evidence_before, flip.evidence_after)
        )
        ids = f"query {flip.query_id}, code {flip.code_id}"
        yield Items([f"before: {before}", f"after: {after}", ids])
    if (more := len(change.flips) - _SHOWN) > 0:
        yield f"{more:,} more turned; flips.jsonl has them, with all programs."


def score_blocks(changes: Sequence[ScoreChange]) -> list[Block]:
    """Return each method's means in both versions and how they changed."""
    header = ("method", "metric", "before", "after", "change", "p", "shared queries")
    rows = [
        (row.method, row.metric, f"{row.before:.4f}", f"{row.after:.4f}", f"{row.shared:+.4f}",
         f"{row.p_value:.4f}", f"{row.queries:,}")
        for row in changes
    ]  # fmt: skip
    table = Table(header, rows, text_columns=2)
    return [table, "Change and p: over the queries that both versions score."]


def _parts(evidence: Annotation) -> Iterator[str]:
    """Yield who gave a label, by which path and why, and how each test program ended."""
    path = f"{evidence.decided_by}, {format_words(evidence.path)}"
    reason = evidence.reason[:_LONGEST_REASON]
    yield f"{path}: {reason}" if reason else path
    for number, result in enumerate((run.result for run in evidence.executions), 1):
        outcome, message = f"program {number} {format_words(result.outcome)}", result.message
        if not message.startswith(result.error_type):
            message = f"{result.error_type}: {message}"
        yield f"{outcome} ({message[:_LONGEST_REASON]})" if message else outcome


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value(part)}" for name, part in value.items())
    return "none" if value is None else str(value)
