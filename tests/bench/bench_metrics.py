"""How fast metrics are at full size, reading the files included, against three libraries.

20,604 queries with 100 results and 20 judged codes each, as TREC files that everybody reads. Every
library runs in a process of its own, is warmed up on a small case (ranx compiles), and gives every
query's value and the mean of the metrics that all four know; ours gives all its metrics, too.
Time in the system is that of memory, and depends on what else the machine does.

    python -m tests.bench.bench_metrics [--queries N] [--rounds N]

ranx comes with ``pip install -e '.[rivals]'``; a library that is not installed is passed over.
"""

import argparse
import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

RESULTS, JUDGED, CODES = 100, 20, 650_000
COMMON = ("NDCG@10", "MRR", "MAP", "Recall@10", "Precision@10")
MORE = ("NDCG-exp@10", "NDCG-condensed@10", "MAP@100", "MRR@10", "MMRR", "bpref", "Answered@5")
KEYS = ("s", "user", "system", "more")
Means = dict[str, float]


def ours(run: Path, qrels: Path, names: tuple[str, ...] = COMMON) -> Means:
    """Score by this project."""
    from tasks.benchmarks.trec import qrels_table, read_run  # noqa: PLC0415 - each in its process
    from tasks.files.columns import NAME, NUMBER, read_columns  # noqa: PLC0415
    from tasks.metrics import evaluate, mean  # noqa: PLC0415

    types = {"query": NAME, "code": NAME, "relevance": NUMBER}
    judged = read_columns(qrels, ("query", "iteration", "code", "relevance"), types)
    scores = evaluate(read_run(run), qrels_table(qrels, judged), names)
    return {name: mean(values.values()) for name, values in scores.items()}


def ours_all(run: Path, qrels: Path) -> Means:
    """Score by this project, in all of its metrics."""
    return ours(run, qrels, COMMON + MORE)


def by_pytrec_eval(run: Path, qrels: Path) -> Means:
    """Score by pytrec_eval."""
    import pytrec_eval  # noqa: PLC0415

    names = dict(
        zip(COMMON, ("ndcg_cut_10", "recip_rank", "map", "recall_10", "P_10"), strict=True)
    )
    with qrels.open() as judged, run.open() as ranked:
        judge = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), set(names.values()))
        values = judge.evaluate(pytrec_eval.parse_run(ranked))
    return {ours: mean_of([of[theirs] for of in values.values()]) for ours, theirs in names.items()}


def by_ir_measures(run: Path, qrels: Path) -> Means:
    """Score by ir-measures."""
    import ir_measures  # noqa: PLC0415
    from ir_measures import AP, RR, P, R, nDCG  # noqa: PLC0415

    names = dict(zip(COMMON, (nDCG @ 10, RR, AP, R @ 10, P @ 10), strict=True))
    values: dict[object, list[float]] = {}
    ranked = ir_measures.read_trec_run(str(run))  # type: ignore[no-untyped-call]
    judged = ir_measures.read_trec_qrels(str(qrels))  # type: ignore[no-untyped-call]
    for found in ir_measures.iter_calc(names.values(), judged, ranked):
        values.setdefault(found.measure, []).append(found.value)
    return {ours: mean_of(values[theirs]) for ours, theirs in names.items()}


def by_ranx(run: Path, qrels: Path) -> Means:
    """Score by ranx."""
    import ranx  # noqa: PLC0415

    names = dict(zip(COMMON, ("ndcg@10", "mrr", "map", "recall@10", "precision@10"), strict=True))
    ranked, judged = (kind.from_file(str(file), kind="trec") for kind, file in (
        (ranx.Run, run), (ranx.Qrels, qrels)))  # fmt: skip
    found = ranx.evaluate(judged, ranked, list(names.values()))
    return {ours: float(found[theirs]) for ours, theirs in names.items()}


CONTESTANTS: dict[str, tuple[Callable[[Path, Path], Means], str]] = {
    "ours": (ours, "numpy"),
    "ours, 12 metrics": (ours_all, "numpy"),
    "pytrec_eval": (by_pytrec_eval, "pytrec_eval"),
    "ir-measures": (by_ir_measures, "ir_measures"),
    "ranx": (by_ranx, "ranx"),
}


def mean_of(values: list[float]) -> float:
    """Return the mean."""
    return float(np.mean(values))


def write_case(folder: Path, queries: int) -> None:
    """Write ``run`` and ``qrels`` without ties, since every library breaks them in its own way."""
    generator = np.random.default_rng(0)
    with (folder / "run").open("w") as run, (folder / "qrels").open("w") as qrels:
        for query in range(queries):
            codes = generator.choice(CODES, RESULTS + JUDGED, replace=False)
            scores = 1 - np.arange(RESULTS) / RESULTS
            run.writelines(
                f"q{query:08} Q0 c{code:012} {rank} {score:.6f} m\n"
                for rank, (code, score) in enumerate(zip(codes, scores, strict=False), 1)
            )
            judged = generator.choice(codes, JUDGED, replace=False)
            grades = generator.integers(0, 4, JUDGED)
            grades[0] = 1
            qrels.writelines(
                f"q{query:08} 0 c{code:012} {grade}\n"
                for code, grade in zip(judged, grades, strict=True)
            )


def time_one(name: str, folder: Path, small: Path) -> None:
    """Print seconds, peak memory and means of one contestant as JSON."""
    score = CONTESTANTS[name][0]
    score(small / "run", small / "qrels")
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    means = score(folder / "run", folder / "qrels")
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "s": seconds,
        "user": after.ru_utime - before.ru_utime,
        "system": after.ru_stime - before.ru_stime,
        "mb": after.ru_maxrss / 1024,
        "more": (after.ru_maxrss - before.ru_maxrss) / 1024,
    }
    print(json.dumps(figures | means))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=20_604)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folders", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        time_one(options.one, *options.folders)
        return
    with tempfile.TemporaryDirectory() as root:
        folders = [Path(root) / "full", Path(root) / "small"]
        for folder, queries in zip(folders, (options.queries, 50), strict=True):
            folder.mkdir()
            write_case(folder, queries)
        found: dict[str, list[dict[str, float]]] = {}
        names = [name for name, (_, package) in CONTESTANTS.items() if _is_installed(package)]
        for _ in range(options.rounds):  # in turns, so that a busy machine is busy for all
            for name in names:
                found.setdefault(name, []).append(measure(name, folders))
            names.append(names.pop(0))  # who comes next finds the memory that the last one left
    show(found, options.queries)


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def measure(name: str, folders: list[Path]) -> dict[str, float]:
    """Return what one process of a contestant says."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.bench.bench_metrics"]
    arguments = ["--one", name, "--folders", *map(str, folders)]
    result = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, check=True)
    figures: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return figures


def show(found: dict[str, list[dict[str, float]]], queries: int) -> None:
    """Print medians, ratios to ours, and whether all agree."""
    medians = {
        name: {key: statistics.median(each[key] for each in runs) for key in KEYS}
        for name, runs in found.items()
    }
    print(f"{queries:,} queries x {RESULTS} results, {len(COMMON)} metrics, files read:")
    first = medians["ours"]
    for name, figures in medians.items():
        last = found[name][-1]
        apart = max(abs(last[metric] - found["ours"][-1][metric]) for metric in COMMON)
        print(
            f"{name:18} wall {figures['s']:6.2f} s (x{figures['s'] / first['s']:5.2f})  "
            f"processor {figures['user']:6.2f} s (x{figures['user'] / first['user']:5.2f}) "
            f"and in the system {figures['system']:5.2f} s  "
            f"peak {last['mb']:6.0f} MB, of these {figures['more']:6.0f} for the data  "
            f"means apart by {apart:.0e}"
        )


if __name__ == "__main__":
    main()
