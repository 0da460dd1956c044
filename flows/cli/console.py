"""What a person sees on the terminal: messages, and no traceback for errors made to be read."""

import logging

from rich.console import Console
from rich.table import Table

from infra.errors import CosqaError
from tasks.reports.run import BenchmarkScores
from tasks.stages.report import WrittenReport

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


class _WithoutTraceback(logging.Filter):
    """Takes the traceback off records of our own errors, whose message says it all."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], CosqaError):
            record.exc_info, record.exc_text = None, None
        return True


def quieten_expected_errors() -> None:
    """Let Prefect log our own errors without a traceback."""
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).addFilter(_WithoutTraceback())


def print_scores(benchmark: BenchmarkScores) -> None:
    """Print a benchmark's mean scores, a line for each method."""
    names = list(dict.fromkeys(name for row in benchmark.methods for name in row.scores))
    demo = " (labels by the demo model)" if benchmark.demo else ""
    table = Table(
        title=f"{benchmark.name}{demo}: {benchmark.queries:,} queries, {benchmark.codes:,} codes, "
        f"rankings of {benchmark.depth:,}",
        title_justify="left",
    )
    table.add_column("method")
    for name in names:
        table.add_column(name, justify="right")
    for row in benchmark.methods:
        table.add_row(row.method, *(f"{row.scores[name]:.4f}" for name in names))
    console.print(table)


def print_outcome(report: object, worked: bool) -> None:
    """Print what a run led to; the paths come last."""
    if not worked:
        console.print("Nothing was left to do: everything is up to date.")
    if not isinstance(report, WrittenReport):
        return
    for benchmark in report.benchmarks:
        print_scores(benchmark)
    for name, folder in report.links.items():
        console.print(f"benchmark {name}: {folder}")
    console.print(f"report: {report.file}")
