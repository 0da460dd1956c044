"""The pages of a run of judges as Markdown, for the Prefect UI."""

from collections.abc import Sequence

from infra.markdown import markdown_table, markdown_text
from tasks.reports.judging.run import JudgedPair, JudgedRun
from tasks.reports.text import NONE, cost, duration, share, words

_STATUSES = ("labelled", "undecided", "failed")


def funnel_markdown(run: JudgedRun) -> str:
    """Return how many pairs were pending and judged, and what became of them, by path."""
    steps = [("pending", run.pending), ("judged", run.judged)]
    steps += [(status, run.with_status(status)) for status in _STATUSES]
    rows = [(name, f"{number:,}", share(number, run.pending)) for name, number in steps]
    paths = [
        (status, words(path), NONE if label is None else str(label), f"{number:,}")
        for status, path, label, number in run.endings
    ]
    spent = f"{cost(run.spent_usd)} and {run.spent_tokens:,} tokens were spent by the run so far."
    blocks = [
        f"# {markdown_text(run.collection)}",
        f"Judged by {markdown_text(run.model)}, canaries left aside. {spent}",
        markdown_table(("pairs", "number", "share of pending"), rows),
        "## By path",
        markdown_table(("status", "path", "label", "pairs"), paths, text_columns=2)
        if paths
        else "No pair was judged.",
    ]
    return "\n\n".join(blocks) + "\n"


def pairs_markdown(run: JudgedRun) -> str:
    """Return the slowest and the failed pairs, and the command that shows one in full."""
    blocks = [
        f"# {markdown_text(run.collection)}",
        "A pair with all its calls and executions: `cosqa pair QUERY CODE`",
        "## Slowest",
        _table(run.slowest),
        "## Failed",
        _table(run.failed),
    ]
    if (failed := run.with_status("failed")) > len(run.failed):
        blocks.append(f"{failed - len(run.failed):,} more failed.")
    return "\n\n".join(blocks) + "\n"


def _table(pairs: Sequence[JudgedPair]) -> str:
    if not pairs:
        return "None."
    rows = [
        (
            duration(pair.seconds),
            words(pair.path),
            pair.status,
            pair.query_id,
            pair.code_id,
            pair.reason,
        )
        for pair in pairs
    ]
    header = ("time", "path", "status", "query", "code", "reason")
    return markdown_table(header, rows, text_columns=len(header))
