"""Forecasts from what a store has measured, or from built-in rates where there is no store.

Nothing is written: no store is made.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from agents.committee.configurations import OF_QUERIES
from infra.errors import CosqaError, SettingsError
from infra.machine import this_machine
from infra.settings import Settings
from infra.store import Database, measured, open_database
from infra.store.benchmarks import StageRun
from tasks.encoders import encoders
from tasks.forecast.forecast import Forecast, forecast
from tasks.forecast.measurements import BUILT_IN_EFFORT, Measurements, PairEffort
from tasks.forecast.rates import Work
from tasks.forecast.workload import (
    BASE_SIZE,
    Cluster,
    EncoderSize,
    Workload,
    base_size_encoders,
    lexical_work,
)
from tasks.ranking.methods import chosen_methods, components
from tasks.retrievers import retrievers
from tasks.stages.annotate.dry_run import no_batches, takes_batches
from tasks.stages.annotate.effort import price_of

_BOX_S = 0.1  # in which a box is held for a test program and its checks, at least
# Million parameters that each token meets; other registered encoders are of base size.
_PARAMETERS = {
    "minilm": 10.6,
    "all-minilm-l12-v2": 21.3,
    "jina-embeddings-v3": 303.0,
    "multilingual-e5-large": 303.0,
}


def forecast_of(
    settings: Settings, codes: int, queries: int, base_sized: int | None, cluster: Cluster
) -> Forecast:
    """Return the forecast of a benchmark of this size, by these settings, on a cluster.

    Args:
        settings: The store, whose rates are used, the search, the methods, the model.
        codes: Number of functions.
        queries: Number of queries.
        base_sized: Forecast so many encoders of base size in place of those of the settings.
        cluster: What it is to run on.

    Raises:
        UnknownNameError: There is no such encoder or method.
        SettingsError: An API's encoder has a length that only the API knows; or the model takes
            no batches.
    """
    chosen = (
        base_size_encoders(base_sized)
        if base_sized
        else tuple(_priced(name) for name in settings.search.encoders)
    )
    lexical, dense = _methods(settings, chosen, given=bool(base_sized))
    workload = Workload(
        codes=codes,
        queries=queries,
        top_k=settings.search.top_k,
        encoders=chosen,
        rounds=settings.annotation.times if settings.annotation.agents else 0,
        lexical=lexical,
        dense=dense,
        depth=settings.evaluation.depth,
        search_memory_mb=settings.search.memory_mb,
    )
    price = None if settings.llm.is_demo else price_of(settings.llm.model)
    batches = settings.llm.is_demo or takes_batches(settings.llm)  # the paper's model takes them
    if cluster.batch and not batches:
        raise SettingsError(no_batches(settings.llm))
    return forecast(workload, cluster, measurements(settings), price, takes_batches=batches)


def _methods(
    settings: Settings, chosen: tuple[EncoderSize, ...], *, given: bool
) -> tuple[tuple[str, ...], tuple[EncoderSize, ...]]:
    """Return the lexical methods and the encoders that are evaluated, those of fusions included."""
    if given and not settings.evaluation.methods:
        return tuple(retrievers.names()), chosen
    listed = [
        name
        for method in chosen_methods(settings.evaluation, settings.search)
        for name in components(method)
    ]
    names = list(dict.fromkeys(listed))
    lexical = tuple(name for name in names if not encoders.has(name))
    return lexical, tuple(_priced(name) for name in names if encoders.has(name))


def encoder_size(name: str) -> EncoderSize:
    """Return how large an encoder is: by its checkpoint's configuration, or as it is known.

    Raises:
        UnknownNameError: There is no such encoder.
        SettingsError: Only its API knows the length of its vectors.
    """
    kind = encoders.get(name)
    spec = kind.spec
    if spec.dimension < 1:
        raise SettingsError(
            f"only the API knows the dimension of {name}: forecast with --encoders N, or name "
            "an encoder with its dimension"
        )
    folder = getattr(kind, "folder", None)
    known = _PARAMETERS.get(spec.name.partition("@")[0], BASE_SIZE)
    return EncoderSize(
        name=spec.name,
        dimension=spec.dimension,
        parameters=_configured(folder) or known if isinstance(folder, Path) else known,
        is_api=spec.is_api,
    )


def _priced(name: str) -> EncoderSize:
    """Return how large an encoder is, with the price of one behind an API."""
    size = encoder_size(name)
    price = price_of(encoders.get(name).spec.model) if size.is_api else None
    return size.model_copy(update={"usd_per_token": price.prompt_usd if price else None})


def _configured(folder: Path) -> float | None:
    """Return a checkpoint's million parameters by its config.json, None where it does not say."""
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        hidden, layers = int(config["hidden_size"]), int(config["num_hidden_layers"])
        inner = int(config["intermediate_size"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return layers * (4 * hidden * hidden + 2 * hidden * inner) / 1e6 or None


def measurements(settings: Settings) -> Measurements:
    """Return what the store of the settings has measured; without a store, nothing."""
    if not settings.store.database.is_file():
        return Measurements()
    database = open_database(settings.store)
    with database.kept_open():
        return Measurements(
            runs=tuple(_works(database, settings.search.encoders)),
            effort=None if settings.llm.is_demo else _effort(database, settings.llm.model),
            row_bytes=measured.bytes_per_row(database),
        )


def _effort(database: Database, model: str) -> PairEffort | None:
    found = measured.effort_of(database, model, OF_QUERIES)
    if found is None:
        return None
    calls = found.calls / found.judgements
    executions = found.executions / found.judgements
    run_s = found.execution_seconds / found.executions if found.executions else 0.0
    single, cost = found.single_calls, found.cost_usd
    return PairEffort(
        calls=calls,
        call_seconds=found.call_seconds / single if single else BUILT_IN_EFFORT.call_seconds,
        prompt_tokens=calls * found.prompt_tokens / found.paid_calls,
        completion_tokens=calls * found.completion_tokens / found.paid_calls,
        executions=executions,
        box_seconds=executions * max(run_s, _BOX_S),
        cost_usd=None if cost is None else calls * cost / single,
        judgements=found.judgements,
        source=f"measured here: {found.judgements:,} judgements by {model}",
    )


def _works(database: Database, named: Sequence[str]) -> Iterator[Work]:
    """Yield the store's runs of stages as work; those whose work cannot be told are left out."""
    sizes = _known_sizes(named)
    searched = measured.searched_encoders(database)
    for run in measured.measured_runs(database):
        if run.stage == "find candidates":
            names = searched.get(run.collection, [])
            dimension = sum(sizes[name].dimension for name in names if name in sizes)
            found = _search(run, dimension if all(name in sizes for name in names) else 0)
        else:
            found = _work(run, sizes)
        if found is not None:
            yield found


def _known_sizes(named: Sequence[str]) -> dict[str, EncoderSize]:
    """Return the sizes of the registered encoders and of those that the settings name."""
    sizes = {}
    for name in (*encoders.registered(), *named):
        try:
            size = encoder_size(name)
        except CosqaError:
            continue  # of unknown length, or a checkpoint that is gone: not needed to forecast
        sizes[size.name] = size
    return sizes


def _work(run: StageRun, sizes: dict[str, EncoderSize]) -> Work | None:
    """Return a run of a stage but `find candidates` as work, None where that cannot be told."""
    stage, _, name = run.stage.partition(" ")
    if stage == "collect":
        return _made(run, "collect", "", run.items, f"{run.items:,} texts")
    if stage == "embed" and (size := sizes.get(name.removeprefix("with "))):
        kind = "embed by an API" if size.is_api else "embed on GPUs" if run.gpus else "embed"
        amount = run.items * (1 if size.is_api else size.parameters)
        return _made(run, kind, size.name, amount, f"{run.items:,} texts")
    if stage == "publish":
        whole = run.items + (run.codes or 0)
        return _made(run, "publish", "", whole, f"{whole:,} pairs and codes")
    if stage == "evaluate" and name in sizes:
        return _search(run, sizes[name].dimension, name)
    if stage == "evaluate" and name in retrievers.names() and run.codes:
        amount = lexical_work(run.codes, run.items)
        return _made(run, "rank by words", name, amount, _compared(run))
    return None


def _search(run: StageRun, dimension: int, name: str = "find candidates") -> Work | None:
    if not run.codes or not dimension:
        return None
    kind = "search on a GPU" if run.gpus else "search"
    amount = run.items * run.codes * dimension / 1e9
    return _made(run, kind, name, amount, _compared(run))


def _compared(run: StageRun) -> str:
    return f"{run.items:,} queries x {run.codes:,} codes"


def _made(run: StageRun, kind: str, name: str, amount: float, described: str) -> Work:
    return Work(
        kind=kind,
        name=name,
        amount=amount,
        seconds=run.seconds,
        cores=run.cores or this_machine().cores,
        gpus=run.gpus or 0,
        memory_mb=run.peak_memory_mb,
        described=described,
    )
