"""What each stage costs as the corpus grows: the product end to end at several sizes.

    python -m tests.bench.bench_scale [--sizes 10000 30000 100000] [--share 0.05] [--judged 0.05]

Every size is a store of its own, made by the commands `cosqa collect`, `annotate`, `publish`,
`evaluate` and, with nothing left to do, `benchmark`, each a process of its own. The functions are
those of installed distributions, then made-up ones (`made_up_corpus`); there are ``--share`` times
as many queries, of which the share ``--judged`` is judged by a scripted model without boxes (what
judging costs is what `bench_annotate` measures). Three encoders of one layer with random weights
embed.

Seconds are those that the store has of each stage; ``report`` and ``nothing to do`` are commands,
start included, the first without the stages. Memory is the most that the command's processes held
at once while the stage ran (Ray's and Prefect's included): their proportional set sizes, in which
shared pages count once. An exponent is the slope of a least-squares line through the logarithms of
seconds and of functions; that of a search is near 2, since queries grow with the functions. The
extrapolation takes for each stage the exponent in its own work (queries x functions for searches),
at least 1, from the largest size on.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from infra.settings import StoreSettings
from infra.store import open_database
from tests.bench.commands import COSQA, Watch
from tests.bench.made_up_corpus import MadeUpCorpus, make_encoders, read_corpus
from tests.fakes.llm_server import KEY

TOP_K = 20
LIMIT = 1.1  # of every exponent but a search's
FULL = (653_994, 20_604)  # functions and queries of the paper
NOTHING, REPORT = "nothing to do", "report (and the command's start)"
_VERDICTS = {"return None": "unclear", "return": "clear_match", "": "clear_non_match"}


@dataclass(frozen=True)
class Cost:
    """A stage's seconds and bytes of memory at one size."""

    seconds: float
    memory: int


@dataclass(frozen=True)
class Size:
    """What all stages took at one size.

    Attributes:
        codes: Functions that the filters kept.
        queries: Their queries.
        pairs: Pairs that the scripted model judged.
        costs: Stage → its cost.
        database: Bytes of the DuckDB file.
        vectors: Bytes of the folder of vectors.
        replies: Bytes of the model's replies and the rest.
    """

    codes: int
    queries: int
    pairs: int
    costs: Mapping[str, Cost]
    database: int
    vectors: int
    replies: int


@contextmanager
def scripted_model(folder: Path) -> Iterator[dict[str, str]]:
    """Run a model that judges by a word of the code; yield the environment that names it."""
    script = [
        {"role": role, "query": "*", "code": code, "steps": [{"reply": reply}]}
        for role, verdicts, steps in (
            ("screener", _VERDICTS, {"reason": "scripted"}),
            ("exact_judge", {"": "does_not_answer"}, {"asked": "scripted", "deviations": "none"}),
        )
        for code, verdict in verdicts.items()
        for reply in [{**steps, "verdict": verdict}]
    ]
    rules = folder / "script.json"
    rules.write_text(json.dumps(script), "utf-8")
    command = [sys.executable, "-m", "tests.fakes.llm_server", "--script", str(rules)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield {
                "COSQA_LLM__MODEL": "openai/scripted",
                "COSQA_LLM__BASE_URL": server.stdout.readline().strip(),
                "COSQA_LLM__API_KEY": KEY,
                "COSQA_ANNOTATION__CONFIGURATION": "arbiter",
                "COSQA_ANNOTATION__CANARIES": "0",
                "PREFECT_API_TLS_INSECURE_SKIP_VERIFY": "true",
            }
        finally:
            server.kill()


def measure(corpus: MadeUpCorpus, codes: int, options: argparse.Namespace, folder: Path) -> Size:
    """Build, judge, publish and score a benchmark of this size; return what each stage took."""
    source, store = folder / "source", folder / "store"
    queries = round(codes * options.share)
    corpus.write(source, codes, queries)
    encoders = make_encoders(folder, [item.code.text for item in corpus.functions[:1000]])
    words = ["--source", "jsonl", "--path", str(source), "--top-k", str(TOP_K)]
    words += [word for encoder in encoders for word in ("--encoder", encoder)]
    words += ["--source-option", "filters=parseable,near-duplicates"]
    words += ["--store", str(store), "--output", str(folder / "out")]
    limit = ["--limit", str(max(1, round(queries * options.judged)))]
    methods = ["--method", "bm25", "--method", encoders[0]]
    with scripted_model(folder) as model:
        costs = _run_all(store, words, limit, methods, model)
    tables = ("codes", "queries", "annotations")
    with open_database(StoreSettings(folder=store)).transaction() as tx:
        kept, asked, pairs = (tx.count(f"SELECT count(*) FROM {name}") for name in tables)
    vectors, database = _bytes_below(store / "vectors"), (store / "cosqa.duckdb").stat().st_size
    rest = _bytes_below(store) - vectors - database
    return Size(kept, asked, pairs, costs, database, vectors, rest)


def _run_all(
    store: Path,
    words: Sequence[str],
    limit: Sequence[str],
    methods: Sequence[str],
    model: Mapping[str, str],
) -> dict[str, Cost]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COSQA_")}
    environment, watch, costs = {**clean, **model}, Watch(), dict[str, Cost]()
    commands = {"collect": [], "annotate": limit, "publish": [], "evaluate": methods}
    for command, more in commands.items():
        before = len(_stage_runs(store))
        done = watch.run([COSQA, command, *words, *more], environment)
        taken = _costs(_stage_runs(store)[before:], watch)
        costs |= taken
        print(f"{command}: {done.seconds:.1f} s", flush=True)
    rest = done.seconds - sum(cost.seconds for cost in taken.values())  # of `evaluate`
    costs[REPORT] = Cost(rest, watch.peak(done.ended - rest, done.ended))
    done = watch.run([COSQA, "benchmark", *words, *limit, *methods], environment)
    costs[NOTHING] = Cost(done.seconds, watch.peak(done.started, done.ended))
    if "Nothing was left to do" not in done.printed:
        raise SystemExit(f"the second run worked:\n{done.printed}")
    return costs


def _stage_runs(store: Path) -> list[tuple[str, float, float]]:
    """Return (stage, its end in seconds since 1970, its seconds) of a store's stages, in order."""
    if not store.exists():
        return []
    with open_database(StoreSettings(folder=store)).transaction() as tx:
        rows = tx.rows("SELECT stage, epoch(ended_at), seconds FROM stage_runs ORDER BY ended_at")
    return [(str(stage), float(str(end)), float(str(taken))) for stage, end, taken in rows]


def _costs(runs: Sequence[tuple[str, float, float]], watch: Watch) -> dict[str, Cost]:
    """Return stage → cost; a stage that ran several times counts once, with all its seconds."""
    costs: dict[str, Cost] = {}
    for stage, end, seconds in runs:
        before = costs.get(stage, Cost(0, 0))
        memory = max(before.memory, watch.peak(end - seconds, end))
        costs[stage] = Cost(before.seconds + seconds, memory)
    return costs


def _bytes_below(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def work_of(stage: str, codes: int, queries: int, pairs: int) -> float:
    """Return the size of a stage's work: its items, or the products that a search makes."""
    if is_search(stage):
        return float(codes) * queries
    return float(pairs if stage.startswith("annotate") else codes + queries)


def is_search(stage: str) -> bool:
    """Return whether a stage compares every query with every code."""
    return stage == "find candidates" or stage.startswith("evaluate")


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the slope of the least-squares line through logarithms; of one point nothing."""
    if len(set(x)) < 2:
        return math.nan
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-3)), 1)[0])


def print_tables(sizes: Sequence[Size]) -> None:
    """Print seconds, memory, exponents and extrapolation of each stage, and the stores' sizes."""
    table = Table(title="stages", title_justify="left")
    table.add_column("stage")
    codes = [size.codes for size in sizes]
    for header in (*(f"{n:,}" for n in codes), "exponent", f"at {FULL[0]:,}", "memory, GB"):
        table.add_column(header, justify="right")
    for stage in sizes[-1].costs:
        seconds = [size.costs[stage].seconds for size in sizes]
        memory = " ".join(f"{size.costs[stage].memory / 1e9:.1f}" for size in sizes)
        table.add_row(
            stage,
            *(f"{taken:.1f}" for taken in seconds),
            f"{slope(codes, seconds):.2f}",
            _duration(_extrapolated(stage, sizes)),
            memory,
        )
    Console(width=140).print(table)
    for what in ("database", "vectors", "replies"):
        held = [float(getattr(size, what)) for size in sizes]
        listed = ", ".join(f"{each / 1e6:,.0f} MB" for each in held)
        grows = slope(codes, held)
        full = held[-1] * (FULL[0] / codes[-1]) ** max(grows, 1)
        print(
            f"{what} of the store: {listed}; exponent {grows:.2f}; {full / 1e9:.1f} GB at full size"
        )
    worst = {
        stage: slope(codes, [size.costs[stage].seconds for size in sizes])
        for stage in sizes[-1].costs
        if not is_search(stage)
    }
    over = {stage: value for stage, value in worst.items() if value > LIMIT}
    print(
        f"extrapolated to {FULL[0]:,} functions, {FULL[1]:,} queries and {FULL[1] * TOP_K:,} "
        "judged pairs, from the largest size by each stage's exponent in its own work, at least "
        "1: queries x functions for searches, pairs for annotation, functions and queries for all "
        "others; with encoders of one layer, a model that answers at once, and no boxes"
    )
    listed = ", ".join(f"{stage} {value:.2f}" for stage, value in over.items())
    print(f"exponents over {LIMIT} but those of searches: {listed or 'none'}")


def _extrapolated(stage: str, sizes: Sequence[Size]) -> float:
    """Return a stage's seconds at full size, every pair judged."""
    full = work_of(stage, *FULL, FULL[1] * TOP_K)
    work = [work_of(stage, size.codes, size.queries, size.pairs) for size in sizes]
    seconds = [size.costs[stage].seconds for size in sizes]
    grows = slope(work, seconds)
    return seconds[-1] * (full / work[-1]) ** (1 if math.isnan(grows) else max(1, grows))


def _duration(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 3600 else f"{seconds / 3600:,.1f} h"


def main() -> None:
    """Measure all sizes and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--share", type=float, default=0.05, help="queries to a function")
    parser.add_argument("--judged", type=float, default=0.05, help="share of the queries")
    parser.add_argument("--installed", type=int, default=60_000, help="installed functions at most")
    parser.add_argument(
        "--folder", type=Path, help="where to work; a temporary folder if not given"
    )
    options = parser.parse_args()
    started = time.monotonic()
    corpus = read_corpus(max(options.sizes), options.installed)
    print(f"{len(corpus.functions):,} functions, {corpus.made_up:,} made up, "
          f"{time.monotonic() - started:.0f} s")  # fmt: skip
    sizes = []
    for codes in sorted(options.sizes):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            print(f"{codes:,} functions", flush=True)
            sizes.append(measure(corpus, codes, options, Path(folder)))
    print_tables(sizes)
    print(
        f"{sizes[-1].queries:,} queries and {sizes[-1].pairs:,} judged pairs at the largest size; "
        f"{time.monotonic() - started:.0f} s in all"
    )


if __name__ == "__main__":
    main()
