"""Time, memory and recall of the approximate index against exact search, by the product's code.

    python -m tests.bench.bench_index [--codes 650000] [--queries 500] [--dimension 384] [--k 20]
        [--probes 64] [--folder FOLDER]

The vectors are made up: unit vectors around 5,000 random centres, with a mean cosine of .7 to
theirs, queries likewise. They lie in a file (float32) that is mapped into memory. Each search runs
in a process of its own, whose greatest memory the operating system reports, pages of the file
among it. The build is that of the index; exact search needs none.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tasks.search.scores import Block, Positions, Singles
from tests.bench.commands import run_apart

CENTRES, BLOCK, NAME = 5_000, 65_536, "made-up"


def unit_vectors(rows: int, dimension: int, seed: int) -> Singles:
    """Return (rows, dimension) unit vectors around the centres."""
    centres = np.random.default_rng(0).standard_normal((CENTRES, dimension), np.float32)
    generator = np.random.default_rng(seed)
    drawn = centres[generator.integers(0, CENTRES, rows)]
    drawn += generator.standard_normal((rows, dimension), np.float32)
    drawn /= np.sqrt(np.einsum("ij,ij->i", drawn, drawn))[:, None]
    return drawn


def write_vectors(options: argparse.Namespace) -> None:
    """Write the vectors of codes and queries."""
    shape = (options.codes, options.dimension)
    codes = np.lib.format.open_memmap(options.folder / "codes.npy", "w+", np.float32, shape)
    for start in range(0, options.codes, BLOCK):
        rows = min(BLOCK, options.codes - start)
        codes[start : start + rows] = unit_vectors(rows, options.dimension, start + 1)
    codes.flush()
    queries = unit_vectors(options.queries, options.dimension, 2**31)
    np.save(options.folder / "queries.npy", queries)


def alone(options: argparse.Namespace) -> None:
    """Search in this process; save what is found and print the seconds."""
    whole = np.load(options.folder / "codes.npy", mmap_mode="r")
    queries = {NAME: np.load(options.folder / "queries.npy")}

    def codes(wanted: Positions | None = None) -> Iterator[Block]:
        for start in range(0, len(whole), BLOCK):
            positions = np.arange(start, min(start + BLOCK, len(whole)), dtype=np.int32)
            if wanted is not None:
                positions = positions[np.isin(positions, wanted)]
            if len(positions):
                yield positions, {NAME: whole[positions]}

    built = 0.0
    if options.alone == "ivf":
        from tasks.search.approximate import ApproximateSearch  # noqa: PLC0415 - not counted

        started = time.perf_counter()
        index = ApproximateSearch(codes, len(whole), (NAME,), options.probes)
        built = time.perf_counter() - started
        found = index.search(queries, options.k)
    else:
        import torch  # noqa: F401, PLC0415 - as above

        from tasks.search.exact import search  # noqa: PLC0415 - as above

        started = time.perf_counter()
        found = search(queries, codes, options.k)
    seconds = time.perf_counter() - started - built
    np.save(options.folder / f"{options.alone}.npy", found.positions)
    sys.stdout.write(json.dumps({"build": built, "search": seconds}))


def run_alone(name: str, options: argparse.Namespace) -> str:
    """Return what a search takes in a process of its own."""
    taken, peak = run_apart("tests.bench.bench_index", **vars(options) | {"alone": name})
    seconds = f"build {taken['build']:.1f} s, search {taken['search']:.1f} s"
    return f"{name}: {seconds}, peak {peak:.2f} GB"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in (
        ("codes", 650_000), ("queries", 500), ("dimension", 384), ("k", 20), ("probes", 64),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--folder", type=Path, help="where the files are put for the time being")
    parser.add_argument("--alone", choices=["exact", "ivf"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(options)
        return
    with TemporaryDirectory(dir=options.folder) as folder:
        options.folder = Path(folder)
        write_vectors(options)
        told = [run_alone(name, options) for name in ("exact", "ivf")]
        exact, ivf = (np.load(options.folder / f"{name}.npy") for name in ("exact", "ivf"))
        shares = [len(np.intersect1d(one, other)) for one, other in zip(exact, ivf, strict=True)]
        size = f"{options.queries:,} queries x {options.codes:,} codes x {options.dimension}"
        recall = float(np.mean(shares)) / options.k
        sys.stdout.write("\n".join([size, *told, f"recall@{options.k} {recall:.3f}"]) + "\n")


if __name__ == "__main__":
    main()
