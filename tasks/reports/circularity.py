"""Flags for circularity: methods that a benchmark may favour, and how much rests on that.

A method is favoured by candidates that it found itself, by labels that it was trained on, and by a
judge of its own family of models. Beside each flag stands the score on pairs that others found too
(Zobel 1998, SIGIR: leave a method out of the pool), and beside the table the order of methods on
labels that rest on a run of a test program alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from infra.errors import UnknownNameError
from infra.records import Label, Record, caseless
from tasks.benchmarks.benchmark import Benchmark, columns_of
from tasks.benchmarks.rows import PAIR, Rows
from tasks.benchmarks.runs import QrelsTable, Rankings
from tasks.encoders import encoders
from tasks.metrics import Qrels, evaluate, mean
from tasks.ranking.methods import components
from tasks.reports.document import Block, Section, Table
from tasks.reports.text import counted
from tasks.training.encoder import base_of, queries_trained_on

_POOL = 20  # first results of a method that count as found by it: candidates of a query, mostly
_WORD = re.compile(r"[a-z]+")
_MAKERS = {  # word that a model's name begins with → its family
    "gpt": "openai", "chatgpt": "openai", "o": "openai", "text": "openai", "claude": "anthropic",
    "gemini": "google", "gemma": "google", "mixtral": "mistral", "codestral": "mistral",
    "ministral": "mistral", "qwq": "qwen", "codellama": "llama",
}  # fmt: skip
_NO_FAMILY = {  # hosts of others' models, and words of many families
    "openai", "azure", "bedrock", "vertex", "ollama", "huggingface", "hosted", "together", "groq",
    "openrouter", "fireworks", "deepinfra", "sentence", "checkpoint", "all", "base", "recorded",
}  # fmt: skip


class Flag(Record):
    """A method that the benchmark may favour.

    Attributes:
        method: The method.
        reasons: Why.
        score: By the first metric.
        on_shared: The same, without the pairs that it alone has among its first results.
    """

    method: str
    reasons: tuple[str, ...]
    score: float
    on_shared: float


class Circularity(Record):
    """The flags of a leaderboard.

    Attributes:
        metric: The first metric.
        flags: The flagged methods, in the table's order.
        executed: Labels that rest on a run of a valid program.
        tau: Kendall's τ of the methods' order on these to that on all; None where there is none.
    """

    metric: str
    flags: tuple[Flag, ...]
    executed: int
    tau: float | None


def circularity_of(
    benchmark: Benchmark, rankings: Mapping[str, Rankings], qrels: Qrels, metric: str
) -> Circularity:
    """Return the flags of methods on a benchmark, in the order of the rankings."""
    table = QrelsTable.of(qrels)
    scores = {method: _score(ranked, table, metric) for method, ranked in rankings.items()}
    judged = {caseless(each.text) for each in benchmark.queries if each.query_id in qrels}
    reasons = {method: tuple(_reasons(method, benchmark, judged)) for method in rankings}
    favoured = [method for method in rankings if reasons[method]]
    found: dict[str, set[tuple[str, str]]] = {}  # method → judged pairs among its first results
    for method in rankings if favoured else ():
        first = rankings[method].cut(_POOL).rows()
        found[method] = {(query, code) for query, code, _ in first if code in qrels.get(query, {})}
    flags = []
    for method in favoured:
        others = set().union(*(pairs for name, pairs in found.items() if name != method))
        own = found[method] - others
        shared = {
            query: {code: grade for code, grade in grades.items() if (query, code) not in own}
            for query, grades in qrels.items()
        }
        on_shared = _score(rankings[method], shared, metric)
        flags.append(
            Flag(method=method, reasons=reasons[method], score=scores[method], on_shared=on_shared)
        )
    # The labels that rest on a run of a valid program.
    pairs = benchmark.evidence.pairs_with_support("valid_oracle")
    labels = columns_of(benchmark).labels.table.join(pairs, PAIR.names, join_type="left semi")
    proved = QrelsTable.of_labels(Rows(Label, labels))
    on_runs = [_score(ranked, proved, metric) for ranked in rankings.values()]
    return Circularity(
        metric=metric,
        flags=tuple(flags),
        executed=len(proved.rows),
        tau=kendall_tau([*scores.values()], on_runs) if len(proved.rows) else None,
    )


def _score(rankings: Rankings, qrels: Qrels | QrelsTable, metric: str) -> float:
    return mean(evaluate(rankings, qrels, [metric])[metric].values())


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau of two orders of the same items, None where it is undefined."""
    from scipy.stats import kendalltau  # noqa: PLC0415 - takes a second to import

    tau = float(kendalltau(first, second).statistic) if len(first) > 1 else float("nan")
    return None if np.isnan(tau) else tau


def _reasons(method: str, benchmark: Benchmark, judged: set[str]) -> Iterable[str]:
    """Yield the reasons for which a benchmark may favour a method; none of an unknown one."""
    try:
        names = [name for name in components(method) if encoders.has(name)]
    except UnknownNameError:  # a run of another system
        return
    bodies = [benchmark.recipe or {}, *(recipe.body for recipe in benchmark.recipes)]
    models = (body.get("model") for body in bodies)
    called = [str(model.get("model", "")) for model in models if isinstance(model, dict)]
    judges = {family for model in called for family in families(model)}
    for name in names:
        encoder = encoders.get(name)
        if encoder.spec.name in benchmark.found_by:
            yield f"{name} found the candidates"
        if known := len(judged & queries_trained_on(encoder)):
            yield f"{name} was trained on {known:,} of the {counted(len(judged), 'queries')}"
        if same := sorted(judges & families(base_of(encoder))):
            yield f"{name} is of the judge's family ({', '.join(same)})"


def families(model: str) -> set[str]:
    """Return the families of a model, by litellm's or the hub's name of it."""
    words = [found[0] for part in model.lower().split("/") if (found := _WORD.match(part))]
    return {_MAKERS[words[-1]]} if words and words[-1] in _MAKERS else {*words} - _NO_FAMILY


def circularity_section(found: Circularity) -> Section:
    """Return the section of a leaderboard's page."""
    blocks: list[Block] = []
    if found.flags:
        rows = [
            (
                flag.method,
                "; ".join(flag.reasons),
                f"{flag.score:.3f}",
                f"{flag.on_shared:.3f}",
                f"{flag.on_shared - flag.score:+.3f}",
            )
            for flag in found.flags
        ]
        header = ("method", "may be favoured:", found.metric, "on pairs others found too", "change")
        caption = "Methods that the benchmark may favour"
        blocks.append(Table(header, rows, text_columns=2, caption=caption))
    else:
        blocks.append("No method is known to be favoured by candidates, labels or judge.")
    if found.tau is not None:
        order = f"Kendall's τ of the order on them to the full order is {found.tau:.2f}"
        blocks.append(f"{counted(found.executed, 'labels')} rest on a run alone: {order}.")
    return Section("circularity", "Circularity", blocks)
