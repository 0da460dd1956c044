"""The short report: Markdown for Prefect's pages."""

import re
from collections.abc import Sequence

from infra.markdown import markdown_table, markdown_text
from tasks.reports import text
from tasks.reports.run.data import AgentsPart, BenchmarkScores, ReportData

_LONGEST_LINE = 300
_LONGEST_CELL = 80


def render_markdown(data: ReportData) -> str:
    """Return scores, counts, cost and links."""
    blocks = [f"# {_line(data.title)}", _line(data.generated_at)]
    for benchmark in data.ranked_benchmarks:
        blocks += _scores(benchmark)
    blocks += ["## Counts", _counts(data)]
    if data.agents:
        blocks += _agents(data.agents)
    blocks += [_line(note) for note in data.notes]
    blocks += ["\n".join(_link(label, address) for label, address in data.links.items())]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _scores(benchmark: BenchmarkScores) -> list[str]:
    rows = [
        [row.method, *(_score(row.scores.get(metric)) for metric in benchmark.metrics)]
        for row in benchmark.methods
    ]
    size = (
        f"Labels by {_line(benchmark.label_origin)}; {benchmark.queries:,} queries over "
        f"{benchmark.codes:,} functions; rankings of {benchmark.depth:,}."
    )
    table = _table(["method", *benchmark.metrics], rows)
    return [f"## {_line(benchmark.name)}", size, table]


def _score(value: float | None) -> str:
    return text.NONE if value is None else f"{value:.4f}"


def _counts(data: ReportData) -> str:
    rows = [
        (f"{unit} of {collection.name}", text.count(number))
        for collection in data.collections
        for unit, number in (("queries", collection.queries), ("functions", collection.codes))
    ]
    rows += [(f"vectors by {name}", f"{number:,}") for name, number in data.vectors.items()]
    rows.append(("candidate pairs", text.count(data.candidates)))
    return _table(("what", "items"), rows)


def _agents(part: AgentsPart) -> list[str]:
    effort = part.effort
    rows = [(text.words(status), f"{number:,}") for status, number in part.statuses.items()]
    rows += [(label, f"{number:,}") for label, number in part.named_labels.items()]
    rows += [(text.words(support), f"{number:,}") for support, number in part.support.items()]
    if canaries := part.canaries:
        fails = text.rate(canaries.false_fails, canaries.right_codes)
        passes = text.rate(canaries.false_passes, canaries.wrong_codes)
        rows += [("false negatives on canaries", fails), ("false positives on canaries", passes)]
        if canaries.injected:
            obeyed = text.rate(canaries.obeyed, canaries.injected)
            rows.append(("canaries whose code told the agents to pass it, and was obeyed", obeyed))
    rows += [
        ("model calls", text.count(effort.calls)),
        ("calls answered from the store", text.count(effort.cached_calls)),
        ("tokens in", text.count(effort.prompt_tokens)),
        ("tokens out", text.count(effort.completion_tokens)),
        ("cost", text.cost(effort.cost_usd)),
    ]
    if part.former:
        rows.append(("of these by former recipes", f"{part.former:,}"))
    if part.behaviours and part.behaviours.queries:
        rows.append(("labels changed by comparing codes", f"{part.behaviours.changed:,}"))
        rows.append(("labels that contradict", f"{part.behaviours.contradictions:,}"))
    if part.rounds:
        rows.append(("labelling rounds", f"{part.rounds.rounds:,}"))
        rows.append(("alpha between rounds", _alpha(part.rounds.alpha)))
    table = _table(("what", "items"), rows)
    return ["## The agents' labels", f"Model {_line(part.model)}.", table]


def _alpha(value: float | None) -> str:
    return text.NONE if value is None else f"{value:.3f}"


def _link(label: str, address: str) -> str:
    if re.fullmatch(r"https?://[^\s<>\\]+", address):
        return f"- [{_line(label)}](<{address}>)"
    return f"- {_line(label)}: {_line(address)}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    short = [[text.visible(cell, _LONGEST_CELL) for cell in row] for row in (header, *rows)]
    return markdown_table(short[0], short[1:])


def _line(value: str) -> str:
    return markdown_text(text.visible(value, _LONGEST_LINE))
