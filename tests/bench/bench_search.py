"""How long exact search takes, against nothing but the matrix product, FAISS and torch.

    python -m tests.bench.bench_search [--queries 2000] [--codes 650000] [--rounds 3]
        [--dimensions 256 768 768] [--depths 20 1000] [--folder FOLDER]

Vectors of three made-up encoders are written to files as the store has them (4.7 GB at full size,
removed at the end). Ours reads them by the store's reader and finds the highest mean cosines. The
rivals are given vectors that are concatenated and in memory before the clock starts:

- torch's product of the two matrices in blocks of the same size as ours, whose scores are thrown
  away, from memory, and from the files as ours reads them;
- `faiss.IndexFlatIP.search`, all threads;
- torch's matmul and topk in blocks of 65,536 codes, merged.

Each runs in a process of its own, whose greatest memory the operating system reports when it ends.
All must find the same codes as ours, but for those whose cosines differ by less than float32 can
tell.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

from infra.settings import StoreSettings
from infra.store import open_database, vectors
from infra.store.vectors import StoredVectors, joint_blocks
from tasks.search.exact import CODES, QUERIES, search
from tasks.search.scores import Codes, Positions, Singles
from tests.bench.commands import run_apart
from tests.fakes.stores import add_file

ROWS = 8_192  # of a file
TORCH_CODES = 65_536
TOLD_APART = 1e-6
PRODUCT, FROM_FILES, OURS = "product, in memory", "product, from files", "ours, from files"
FLAT, TORCH = "faiss.IndexFlatIP, in memory", "torch matmul + topk, in memory"


def unit_vectors(rows: int, dimension: int, seed: int) -> Singles:
    """Return (rows, dimension) random unit vectors."""
    drawn = np.random.default_rng(seed).standard_normal((rows, dimension), np.float32)
    drawn /= np.sqrt(np.einsum("ij,ij->i", drawn, drawn))[:, None]
    return drawn


def encoder_names(dimensions: list[int]) -> dict[str, int]:
    """Return name → dimension of the made-up encoders."""
    return {f"made-up-{number}": size for number, size in enumerate(dimensions)}


def write_store(options: argparse.Namespace) -> None:
    """Write the files of vectors."""
    database = open_database(StoreSettings(folder=options.folder))
    for number, (name, size) in enumerate(encoder_names(options.dimensions).items()):
        for start in range(0, options.codes, ROWS):
            rows = min(ROWS, options.codes - start)
            ids = [f"c{code:08}" for code in range(start, start + rows)]
            content = unit_vectors(rows, size, 1_000_000 * number + start)
            add_file(database, name, "code", f"{name}/{start:08}.arrow", ids, content)
        queries = unit_vectors(options.queries, size, 10_000_000 + number)
        np.save(options.folder / f"queries-{number}.npy", queries)


def stored_queries(options: argparse.Namespace) -> dict[str, Singles]:
    """Return encoder → vectors of the queries."""
    names = encoder_names(options.dimensions)
    return {name: np.load(options.folder / f"queries-{n}.npy") for n, name in enumerate(names)}


def stored_codes(options: argparse.Namespace) -> Codes:
    """Return the codes' vectors, by the store's reader, which looks for them in its files."""
    database = open_database(StoreSettings(folder=options.folder))
    ids = vectors.ids_of([f"c{code:08}" for code in range(options.codes)])
    by_encoder = {
        name: StoredVectors(database, name, "code", ids)
        for name in encoder_names(options.dimensions)
    }
    return partial(joint_blocks, by_encoder)


def concatenated(options: argparse.Namespace) -> Singles:
    """Return the codes' vectors side by side, in memory."""
    codes = np.empty((options.codes, sum(options.dimensions)), np.float32)
    for positions, rows in stored_codes(options)():
        np.concatenate(list(rows.values()), axis=1, out=codes[positions[0] : positions[-1] + 1])
    return codes


def ours(options: argparse.Namespace) -> Callable[[], Positions]:
    """Search by the product's reader."""
    queries = stored_queries(options)
    return lambda: search(queries, stored_codes(options), options.depths[0]).positions


def multiply(queries: Singles, codes: Singles) -> None:
    """Multiply in blocks of the size of ours."""
    import torch  # noqa: PLC0415 - rivals do not meet in one process

    asked, among = torch.from_numpy(queries), torch.from_numpy(codes)
    for first in range(0, len(asked), QUERIES):
        for start in range(0, len(among), CODES):
            torch.mm(asked[first : first + QUERIES], among[start : start + CODES].T)


def product_in_memory(options: argparse.Namespace) -> Callable[[], Positions]:
    """Multiply and keep nothing."""
    queries, codes = np.hstack(list(stored_queries(options).values())), concatenated(options)

    def run() -> Positions:
        multiply(queries, codes)
        return np.empty((0, 0), np.int32)

    return run


def product_from_files(options: argparse.Namespace) -> Callable[[], Positions]:
    """Read as ours does, multiply and keep nothing."""
    queries = np.hstack(list(stored_queries(options).values()))
    buffer = np.empty((CODES, queries.shape[1]), np.float32)

    def run() -> Positions:
        for _, rows in stored_codes(options)():
            for start in range(0, len(next(iter(rows.values()))), CODES):
                parts = [some[start : start + CODES] for some in rows.values()]
                multiply(queries, np.concatenate(parts, axis=1, out=buffer[: len(parts[0])]))
        return np.empty((0, 0), np.int32)

    return run


def by_faiss(options: argparse.Namespace) -> Callable[[], Positions]:
    """Search by FAISS's exact index."""
    import faiss  # noqa: PLC0415 - as above

    queries = np.hstack(list(stored_queries(options).values()))
    index = faiss.IndexFlatIP(queries.shape[1])
    for _, rows in stored_codes(options)():
        index.add(np.hstack(list(rows.values())))
    return lambda: index.search(queries, options.depths[0])[1].astype(np.int32)


def by_torch(options: argparse.Namespace) -> Callable[[], Positions]:
    """Search by torch's matmul and topk."""
    import torch  # noqa: PLC0415 - as above

    queries = torch.from_numpy(np.hstack(list(stored_queries(options).values())))
    codes = torch.from_numpy(concatenated(options))
    k = options.depths[0]

    def run() -> Positions:
        best, found = (
            torch.empty((len(queries), 0)),
            torch.empty((len(queries), 0), dtype=torch.int64),
        )
        for start in range(0, len(codes), TORCH_CODES):
            scores = queries @ codes[start : start + TORCH_CODES].T
            values, columns = scores.topk(min(k, scores.shape[1]), dim=1)
            best, found = torch.cat([best, values], 1), torch.cat([found, columns + start], 1)
            best, order = best.topk(min(k, best.shape[1]), dim=1)
            found = found.gather(1, order)
        return found.numpy().astype(np.int32)

    return run


CONTENDERS: dict[str, Callable[[argparse.Namespace], Callable[[], Positions]]] = {
    PRODUCT: product_in_memory,
    FROM_FILES: product_from_files,
    OURS: ours,
    FLAT: by_faiss,
    TORCH: by_torch,
}


def run_alone(name: str, depth: int, options: argparse.Namespace) -> tuple[float, float, float]:
    """Return seconds, those of all cores and greatest memory in GB of a contender's process."""
    given = {key: getattr(options, key) for key in ("queries", "codes", "folder", "dimensions")}
    taken, peak = run_apart("tests.bench.bench_search", alone=name, depths=depth, **given)
    return float(taken["seconds"]), float(taken["of cores"]), peak


def alone(options: argparse.Namespace) -> None:
    """Run one contender, save what it finds and print its seconds."""
    work = CONTENDERS[options.alone](options)
    if options.alone != FLAT:
        import torch  # noqa: F401, PLC0415 - before the clock starts, and not beside FAISS
    started, worked = time.perf_counter(), time.process_time()
    found = work()
    seconds, worked = time.perf_counter() - started, time.process_time() - worked
    np.save(found_file(options.alone, options.depths[0], options), found)
    sys.stdout.write(json.dumps({"seconds": seconds, "of cores": worked}))


def found_file(name: str, depth: int, options: argparse.Namespace) -> Path:
    """Return the file of a contender's results."""
    folder: Path = options.folder
    return folder / f"{name.partition(' ')[0].strip(',')}-{depth}.npy"


def check_same(name: str, depth: int, options: argparse.Namespace) -> str:
    """Return how a rival's codes agree with ours; end the program if a cosine tells them apart."""
    mine = np.load(found_file(OURS, depth, options))
    theirs = np.load(found_file(name, depth, options))
    if not theirs.size:
        return ""
    queries = np.hstack(list(stored_queries(options).values()))
    rows, missing = [], []
    for row, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        for code in np.setdiff1d(other, one, assume_unique=True).tolist():
            rows.append(row)
            missing.append(code)
    chosen = np.unique([*missing, *mine[rows, -1].tolist()]).astype(np.int32)
    vector_of = {
        position: np.concatenate([some[place] for some in parts.values()])
        for positions, parts in stored_codes(options)(chosen)
        for place, position in enumerate(positions.tolist())
    }
    for row, code in zip(rows, missing, strict=True):
        last = vector_of[int(mine[row, -1])].astype(float) @ queries[row]
        assert abs(vector_of[code].astype(float) @ queries[row] - last) < TOLD_APART, (name, row)
    return f"{mine.size - len(rows):,} of {mine.size:,}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--codes", type=int, default=650_000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[256, 768, 768])
    parser.add_argument("--depths", type=int, nargs="+", default=[20, 1_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the files are put for the time being")
    parser.add_argument("--alone", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(options)
        return
    with TemporaryDirectory(dir=options.folder) as folder:
        options.folder = Path(folder)
        write_store(options)
        for depth in options.depths:
            Console(width=130).print(measured(depth, options))


def measured(depth: int, options: argparse.Namespace) -> Table:
    """Return the medians of all contenders at one depth, which take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    worked: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    memory = dict.fromkeys(CONTENDERS, 0.0)
    for _ in range(options.rounds):
        for name in CONTENDERS:
            taken, busy, most = run_alone(name, depth, options)
            seconds[name].append(taken)
            worked[name].append(busy)
            memory[name] = max(memory[name], most)
    size = f"{options.queries:,} queries x {options.codes:,} x {sum(options.dimensions):,}"
    table = Table(title=f"top {depth}: {size}, {QUERIES:,} x {CODES:,} at once")
    table.add_column("contender")
    of_files = "of its files, by seconds of cores"
    for column in ("seconds", "of the product", "of its files", of_files, "peak GB", "same codes"):
        table.add_column(column, justify="right")
    median = {name: statistics.median(taken) for name, taken in seconds.items()}
    of_cores = {name: statistics.median(taken) for name, taken in worked.items()}
    for name, taken in median.items():
        ratios = [f"{taken / median[base]:.2f}" for base in (PRODUCT, FROM_FILES)]
        ratios.append(f"{of_cores[name] / of_cores[FROM_FILES]:.2f}")
        same = check_same(name, depth, options)
        table.add_row(name, f"{taken:.2f}", *ratios, f"{memory[name]:.2f}", same)
    return table


if __name__ == "__main__":
    main()
