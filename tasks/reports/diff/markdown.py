"""Comparison of two versions as a page of Markdown."""

from collections.abc import Iterator, Mapping

from infra.markdown import markdown_code, markdown_table, markdown_text
from tasks.reports.diff.compare import Difference, Flip, LabelEvidence
from tasks.reports.diff.score_changes import ScoreChanges

_SHOWN = 50
_LINES = 12


def difference_markdown(change: Difference, scores: ScoreChanges | None = None) -> str:
    """Return the page: counts, the recipe's changes, the first turned labels, the methods' scores.

    Args:
        change: What changed in the benchmark.
        scores: How the methods' scores changed, if methods were scored.
    """
    parts = [
        f"# {markdown_text(change.before)} → {markdown_text(change.after)}",
        _counts(change),
        _recipe(change),
        *(["## Labels that turned", *map(_flip, change.flips[:_SHOWN])] if change.flips else []),
        _more(len(change.flips)),
        *(["## Effect on the methods", _scores(scores)] if scores and scores.methods else []),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _counts(change: Difference) -> str:
    labels = (
        f"{change.kept} kept, {len(change.flips)} turned, {len(change.now_undecided)} now "
        f"undecided; {change.relevant[0]} relevant before, {change.relevant[1]} after"
    )
    rows = [
        ("queries", str(len(change.queries_added)), str(len(change.queries_removed)), ""),
        ("codes", str(len(change.codes_added)), str(len(change.codes_removed)), ""),
        ("labelled pairs", str(len(change.pairs_added)), str(len(change.pairs_removed)), labels),
    ]
    return markdown_table(("what", "added", "removed", "labels"), rows)


def _recipe(change: Difference) -> str:
    if not change.recipe:
        return ""
    rows = [(part, _value(old), _value(new)) for part, (old, new) in change.recipe.items()]
    table = markdown_table(("setting", "before", "after"), rows, text_columns=3)
    return f"## Changes of the recipe\n\n{table}"


def _flip(flip: Flip) -> str:
    lines = flip.code.splitlines()
    cut = ["..."] if len(lines) > _LINES else []
    parts = [
        f"### {flip.before:g} → {flip.after:g}: {markdown_text(flip.query)}",
        markdown_code("\n".join(lines[:_LINES] + cut), "python"),
        f"- before: {markdown_text(describe_evidence(flip.evidence_before))}",
        f"- after: {markdown_text(describe_evidence(flip.evidence_after))}",
        *([f"- another recipe: {markdown_text(', '.join(flip.changed))}"] if flip.changed else []),
        f"- query {flip.query_id}, code {flip.code_id}",
    ]
    return "\n\n".join((*parts[:2], "\n".join(parts[2:])))


def describe_evidence(evidence: LabelEvidence) -> str:
    """Return on one line who gave a label, by which path, why, and how test programs ended."""
    if not evidence.path:
        return "no evidence in the export"
    return "; ".join(_parts(evidence))


def _parts(evidence: LabelEvidence) -> Iterator[str]:
    path = f"{evidence.decided_by}, {evidence.path.replace('_', ' ')}"
    yield f"{path}: {evidence.reason}" if evidence.reason else path
    for number, run in enumerate(evidence.runs, 1):
        outcome = f"program {number} {run.outcome.replace('_', ' ')}"
        yield f"{outcome} ({run.message})" if run.message else outcome
    if evidence.comparison:
        yield f"another label after comparing the codes of the query: {evidence.comparison}"


def _scores(changes: ScoreChanges) -> str:
    rows = [
        (row.method, row.metric, f"{row.before:.4f}", f"{row.after:.4f}",
         str(row.queries), f"{row.shared:+.4f}", f"{row.p_value:.4f}")
        for row in changes.methods
    ]  # fmt: skip
    header = ("method", "metric", "before", "after", "shared queries", "change on these", "p")
    table = markdown_table(header, rows, text_columns=2)
    if changes.order is None:
        return table
    return f"{table}\n\nKendall's tau between the two orders of the methods: {changes.order:.3f}"


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value(part)}" for name, part in value.items())
    return "none" if value is None else str(value)


def _more(flips: int) -> str:
    return f"{flips - _SHOWN} more are in flips.jsonl, with all programs." if flips > _SHOWN else ""
