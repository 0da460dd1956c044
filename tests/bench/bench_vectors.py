"""How fast stored vectors are found and read, against reading the same bytes with nothing else.

    python -m tests.bench.bench_vectors [--codes 650000] [--dimension 1792] [--rounds 3]

The vectors, made up, lie in files as the product writes them, in the system's cache; each reader
adds up all numbers, so that all bytes are touched. "NumPy" maps one file of the same numbers, the
least that reading can cost; "compressed Parquet" is how earlier releases wrote vectors, measured
on a tenth of them. The files take about as much disk as the numbers, twice.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from infra.settings import StoreSettings
from infra.store import Database, open_database, vectors
from infra.store.vectors import LocatedVectors, StoredVectors, Vectors, joint_blocks
from tests.bench.measure import medians
from tests.fakes.vectors import add_file

SHARD, OLD_SHARD = 8_192, 512


def write(database: Database, ids: list[str], dimension: int) -> Path:
    """Write vectors as the store does, as one array, and a tenth as earlier releases did."""
    flat = database.settings.folder / "flat.bin"
    old = database.settings.vectors / "old"
    old.mkdir(parents=True)
    noise = np.random.default_rng(0).normal(size=(SHARD, dimension)).astype(np.float32)
    with flat.open("wb") as file:
        for start in range(0, len(ids), SHARD):
            some = ids[start : start + SHARD]
            rows = np.roll(noise, start // SHARD, axis=1)[: len(some)]
            rows.tofile(file)
            add_file(database, "new", "code", f"new/{start}.arrow", some, rows)
            if start < len(ids) // 10:
                write_as_before(database, old, some, rows)
    return flat


def write_as_before(database: Database, folder: Path, ids: list[str], rows: Vectors) -> None:
    """Write compressed Parquet files of 512 vectors."""
    for start in range(0, len(ids), OLD_SHARD):
        some = rows[start : start + OLD_SHARD]
        column = pa.FixedSizeListArray.from_arrays(pa.array(some.reshape(-1)), some.shape[1])
        file = folder / f"{ids[start]}.parquet"
        pq.write_table(
            pa.table({"item_id": ids[start : start + OLD_SHARD], "vector": column}), file,
            use_dictionary=False, use_byte_stream_split=["vector.list.element"], compression="zstd",
        )  # fmt: skip
        recorded = vectors.RecordedFile(f"old/{file.name}", *some.shape)
        vectors.record_files(database, "old", "code", [recorded])


def added_up(blocks: Iterable[Vectors]) -> float:
    """Return the sum of all numbers."""
    return sum(float(np.dot(rows.reshape(-1), rows.reshape(-1))) for rows in blocks)


def mapped(file: Path, dimension: int) -> float:
    """Return the sum of the numbers of a mapped file."""
    rows = np.memmap(file, np.float32, mode="r").reshape(-1, dimension)
    return added_up(rows[start : start + SHARD] for start in range(0, len(rows), SHARD))


def located(database: Database, key: str, ids: list[str]) -> LocatedVectors:
    """Return the vectors of ids, found but not read."""
    return StoredVectors(database, key, "code", "made up").open(vectors.ids_of(ids))


def read(found: LocatedVectors) -> float:
    """Return the sum of the numbers, read in blocks."""
    return added_up(rows[""] for _, rows in joint_blocks({"": found}))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--codes", type=int, default=650_000)
    parser.add_argument("--dimension", type=int, default=1_792)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the files are put for the time being")
    options = parser.parse_args()
    ids = [f"c{number * 7919:020x}" for number in range(options.codes)]
    size = options.codes * options.dimension * 4 / 1e9
    with TemporaryDirectory(dir=options.folder) as folder:
        database = open_database(StoreSettings(folder=Path(folder)))
        flat = write(database, ids, options.dimension)
        new = located(database, "new", ids)
        before = [file.items for file in vectors.files_of(database, "old", "code")]
        old = located(database, "old", ids[: sum(before)])
        seconds = medians(
            {
                "find all": lambda: located(database, "new", ids),
                "read, the store": lambda: read(new),
                "read, NumPy": lambda: mapped(flat, options.dimension),
                "read, compressed Parquet": lambda: read(old),
            },
            options.rounds,
        )
    print(f"{options.codes:,} vectors of {options.dimension} dimensions, {size:.2f} GB")
    share = sum(before) / options.codes
    for name, took in seconds.items():
        rate = size * (share if "Parquet" in name else 1) / took
        print(f"{name:26} {took:8.2f} s" + (f" {rate:8.2f} GB/s" if "read" in name else ""))


if __name__ == "__main__":
    main()
