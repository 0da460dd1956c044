"""The report in short, as Markdown for the orchestrator's pages."""

import re
from collections.abc import Sequence

from infra.markdown import markdown_table, markdown_text
from tasks.reports import _text as wording
from tasks.reports.run.data import AgentsPart, BenchmarkScores, ReportData

_LONGEST_LINE = 300
_LONGEST_CELL = 80


def render_markdown(data: ReportData) -> str:
    """Return scores, counts, cost and links, honest benchmarks first."""
    blocks = [f"# {_line(data.title)}", _line(data.generated_at)]
    for benchmark in data.ranked_benchmarks:
        blocks += _scores(benchmark)
    blocks += ["## Counts", _counts(data)]
    if data.agents:
        blocks += _agents(data.agents)
    blocks += [_line(note) for note in data.notes]
    blocks += ["\n".join(_link(words, address) for words, address in data.links.items())]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _scores(benchmark: BenchmarkScores) -> list[str]:
    demo = " (demo)" if benchmark.demo else ""
    rows = [
        [row.method + demo, *(_score(row.scores.get(metric)) for metric in benchmark.metrics)]
        for row in benchmark.methods
    ]
    size = (
        f"Labels by {_line(benchmark.label_origin)}; {benchmark.queries:,} queries over "
        f"{benchmark.codes:,} functions; rankings of {benchmark.depth:,}."
    )
    table = _table(["method", *benchmark.metrics], rows)
    return [f"## {_line(benchmark.name)}{demo}", size, table]


def _score(value: float | None) -> str:
    return wording.NONE if value is None else f"{value:.4f}"


def _counts(data: ReportData) -> str:
    rows = [
        (f"{unit} of {collection.name}", wording.count(number))
        for collection in data.collections
        for unit, number in (("queries", collection.queries), ("functions", collection.codes))
    ]
    rows += [(f"vectors by {name}", f"{number:,}") for name, number in data.vectors.items()]
    rows.append(("candidate pairs", wording.count(data.candidates)))
    return _table(("what", "items"), rows)


def _agents(part: AgentsPart) -> list[str]:
    effort = part.effort
    rows = [(wording.words(status), f"{number:,}") for status, number in part.statuses.items()]
    rows += [(label, f"{number:,}") for label, number in part.named_labels.items()]
    rows += [(wording.words(grade), f"{number:,}") for grade, number in part.grades.items()]
    if birds := part.canaries:
        rows += [
            ("known answers taken for none", wording.rate(birds.false_fails, birds.right_codes)),
            ("known non-answers passed", wording.rate(birds.false_passes, birds.wrong_codes)),
        ]
    rows += [
        ("model calls", wording.count(effort.calls)),
        ("calls answered from the store", wording.count(effort.cached_calls)),
        ("tokens in", wording.count(effort.prompt_tokens)),
        ("tokens out", wording.count(effort.completion_tokens)),
        ("cost", wording.cost(effort.cost_usd)),
    ]
    heading = "## The agents' labels"
    table = _table(("what", "items"), rows)
    if not part.demo:
        return [heading, f"Model {_line(part.model)}.", table]
    warning = (
        f"**A demonstration of the road:** the labels come from {_line(part.model)}, a small "
        "embedded model, and say nothing about the code."
    )
    return [f"{heading} (demo)", warning, table]


def _link(words: str, address: str) -> str:
    if re.fullmatch(r"https?://[^\s<>\\]+", address):
        return f"- [{_line(words)}](<{address}>)"
    return f"- {_line(words)}: {_line(address)}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    short = [[wording.visible(cell, _LONGEST_CELL) for cell in row] for row in (header, *rows)]
    return markdown_table(short[0], short[1:])


def _line(text: str) -> str:
    return markdown_text(wording.visible(text, _LONGEST_LINE))
