"""What ``cosqa forecast`` does: print the forecast as tables or as JSON."""

import json

import typer

from flows.cli.console import say
from flows.cli.forecast_options import ForecastOptions
from flows.cli.tables import print_table
from infra.disk import free_bytes
from tasks.forecast.forecast import Forecast
from tasks.forecast.stages import StageForecast
from tasks.forecast.workload import Cluster
from tasks.stages.forecast import forecast_of

_MINUTE, _HOUR, _DAY = 60, 3600, 24 * 3600
_LIMITS = {
    "embed": "embedding",
    "find": "the search for candidates",
    "annotate": "annotation",
    "evaluate": "the evaluation of methods",
    "publish": "the export",
}
_REST = "--json, or the output in a file"


def forecast(options: ForecastOptions) -> None:
    """Print what a benchmark of this size takes."""
    made = forecast_of(
        options.settings, options.codes, options.queries, options.base_sized, options.cluster
    )
    if options.as_json:
        typer.echo(json.dumps(_as_json(made), indent=2))
        return
    _print_stages(made)
    _print_rates(made)
    _print_limit(made)
    free = free_bytes(options.settings.store.folder.resolve()) / 1e9
    missing = made.shortages
    if free < made.disk_gb:
        missing.append(f"it needs {made.disk_gb:.1f} GB of disk and {free:.1f} GB are free here")
    for line in missing:
        say(f"not enough: {line}", style="bold")


def _as_json(made: Forecast) -> dict[str, object]:
    """Return a forecast with its sums."""
    return made.model_dump(mode="json") | {
        "seconds": made.seconds,
        "memory_gb": made.memory_gb,
        "disk_gb": made.disk_gb,
        "cost_usd": made.cost_usd,
        "limit": next(iter(made.limits)),
        "shortages": made.shortages,
    }


def _print_stages(made: Forecast) -> None:
    size = made.workload
    rows = [_row(stage, made.seconds) for stage in made.stages]
    whole = [
        "all", duration(made.seconds), "", "", f"{made.memory_gb:.1f} GB",
        f"{made.disk_gb:.1f} GB", money(made.cost_usd),
    ]  # fmt: skip
    last = _row(made.further_run, made.seconds)
    last[2] = ""
    print_table(
        f"{size.codes:,} functions, {size.queries:,} queries, {size.pairs:,} pairs, "
        f"{_counted(len(size.encoders), 'encoder')}, on {in_words(made.cluster)}",
        ["stage", "time", "share", "range", "memory", "disk", "money"],
        [*rows, whole, last],
        rest=_REST,
        note="range: by the fastest and the slowest of several measured runs; memory: the most on "
        "one machine; the time of all is that of the stages one after the other",
    )


def _row(stage: StageForecast, whole: float) -> list[str]:
    known = stage.low is not None and stage.high is not None
    return [
        stage.stage,
        duration(stage.seconds),
        f"{stage.seconds / whole:.0%}",
        f"{duration(stage.low or 0)} to {duration(stage.high or 0)}" if known else "-",
        f"{stage.memory_gb:.1f} GB",
        f"{stage.disk_gb:.1f} GB",
        money(stage.cost_usd),
    ]


def _print_rates(made: Forecast) -> None:
    """Print for each stage its work, its rate, where that comes from, and what it grows with."""
    say("rates", style="bold")
    same: dict[str, list[str]] = {}
    for stage in (*made.stages, made.further_run):
        about = (
            f"  {stage.work}: {stage.rate}, with {stage.limit}\n  {stage.source}\n"
            f"  time grows in proportion to {stage.grows_with} (exponent {stage.exponent:g})"
        )
        same.setdefault(about, []).append(stage.stage)
    for about, stages in same.items():
        say(f"{'; '.join(stages)}\n{about}")
    say("")


def _print_limit(made: Forecast) -> None:
    kind, seconds = next(iter(made.limits.items()))
    slowest = max(made.stages, key=lambda stage: (stage.stage.startswith(kind), stage.seconds))
    say(
        f"the limit is {_LIMITS.get(kind, kind)}, {seconds / made.seconds:.0%} of the time, "
        f"bounded by {slowest.limit}",
        style="bold",
    )
    for other in made.alternatives:
        saved = f"{duration(other.seconds)} in place of {duration(made.seconds)}"
        say(f"with {other.change}: {saved}, {money(other.cost_usd)}")


def in_words(cluster: Cluster) -> str:
    """Return a cluster in words."""
    gpus = f" and {_counted(cluster.gpus, 'GPU')}" if cluster.gpus else ""
    cores = f"{_counted(cluster.cores, 'core')}{gpus}"
    asked = "batches" if cluster.batch else f"{cluster.in_flight} requests in flight"
    nodes = f"{cluster.nodes} machines of " if cluster.nodes > 1 else "a machine of "
    return f"{nodes}{cores}, {asked}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, name in ((_DAY * 2, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= unit:
            return f"{seconds / (_DAY if name == 'd' else unit):.1f} {name}"
    return f"{seconds:.0f} s"


def money(usd: float | None) -> str:
    """Return an amount of US dollars; unknown is a question mark."""
    return "?" if usd is None else "-" if not usd else f"${usd:,.2f}"
