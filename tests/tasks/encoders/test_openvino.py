"""Laws of what OpenVINO computes: torch's vectors, or none; and nobody is told of it.

Covers `tasks.encoders._openvino`.
"""

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from tasks.encoders import TransformerSpec, encoders
from tasks.encoders import _transformer as transformer
from tasks.encoders._openvino import CompiledModule
from tasks.encoders._transformer import TransformerEncoder
from tests.fakes.checkpoints import make_checkpoint

WORDS = ["def", "add", "a file", "größe", "(x, y):", "\n    return", "sort", "", "json"]
ARCHITECTURES = (
    "all-mpnet-base-v2", "codet5p", "minilm",
    *(pytest.param(name, marks=pytest.mark.nightly)  # as the first two are made
      for name in ("codebert-search", "multilingual-e5-large", "unixcoder")),
)  # fmt: skip


def texts(number: int) -> list[str]:
    """Return texts of none to hundreds of tokens, each another."""
    draw = np.random.default_rng(0)
    lengths = (draw.pareto(1, number) * 4).clip(0, 400).astype(int)
    return [
        " ".join(draw.choice(WORDS, length)) + f" {row}" if row else ""
        for row, length in enumerate(lengths)
    ]


def made(name: str, folder: Path, **changed: object) -> TransformerEncoder:
    """Return a registered encoder with a small checkpoint."""
    spec = encoders.get(name).spec.model_copy(update={"dimension": 64} | changed)
    assert isinstance(spec, TransformerSpec)
    return TransformerEncoder(make_checkpoint(name, folder, spec.dimension), spec)


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the cosines of rows."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    found: np.ndarray = (one * other).sum(axis=1) / lengths
    return found


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_many_texts_have_torchs_vectors_from_openvino(name: str, tmp_path: Path) -> None:
    compare(made(name, tmp_path), texts(200 if name == "minilm" else 60))


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_a_decoder_has_torchs_vectors_from_openvino(pooling: str, tmp_path: Path) -> None:
    vocabulary = len(made("minilm", tmp_path)._tokenizer.tokenizer)
    config = transformers.Qwen2Config(
        vocab_size=vocabulary, hidden_size=64, intermediate_size=128,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    model: Any = transformers.AutoModel
    model.from_config(config).save_pretrained(tmp_path)
    reference = f"checkpoint:decoder={tmp_path}?pooling={pooling}&max_length=256"
    encoder = encoders.get(reference)()
    assert isinstance(encoder, TransformerEncoder)
    compare(encoder, texts(60))


@pytest.mark.parametrize("lengths", [[5, 200] * 5, [5] * 10 + [5, 200] * 5])
def test_a_conversion_that_gives_no_numbers_is_not_taken_and_the_log_says_so(
    lengths: list[int], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    vocabulary = len(made("minilm", tmp_path)._tokenizer.tokenizer)
    config = transformers.ModernBertConfig(
        vocab_size=vocabulary, hidden_size=64, intermediate_size=128, local_attention=8,
        num_hidden_layers=4, num_attention_heads=4, pad_token_id=0, bos_token_id=4, eos_token_id=5,
        cls_token_id=4, sep_token_id=5,
    )  # fmt: skip
    transformers.ModernBertModel(config).save_pretrained(tmp_path)
    encoder = encoders.get(f"checkpoint:modern={tmp_path}?pooling=mean&max_length=256")()
    assert isinstance(encoder, TransformerEncoder)
    many = ["sort " * length for length in lengths]
    by_torch = encoder.encode(many, "code", 4)
    encoder._computed = 1_000
    found = [
        encoder.encode(many[start : start + 10], "code", 4) for start in range(0, len(many), 10)
    ]
    assert encoder._compiled == {"": None}
    assert "'modern' is computed by torch: OpenVINO's vectors are not all of finite" in caplog.text
    assert cosines(np.concatenate(found), by_torch).min() >= 0.9999


def compare(encoder: TransformerEncoder, many: list[str]) -> None:
    """Compare the vectors of OpenVINO and torch."""
    by_torch = encoder.encode(many[:60], "code", 0)
    assert not encoder._compiled
    encoder._computed = 1_000
    found = encoder.encode(many, "code", 0)
    assert encoder._compiled[""] is not None
    assert cosines(found[:60], by_torch).min() >= 0.9999
    assert encoder.encode([], "code", 0).shape == (0, encoder.spec.dimension)
    encoder._compiled[""] = None
    assert cosines(found, encoder.encode(many, "code", 0)).min() >= 0.9999


def test_bfloat16_is_near_and_has_a_key_of_its_own(tmp_path: Path) -> None:
    whole = made("minilm", tmp_path)
    half = TransformerEncoder(tmp_path, whole.spec.model_copy(update={"precision": "bfloat16"}))
    many = texts(60)
    half._computed = 1_000
    assert cosines(half.encode(many, "code", 0), whole.encode(many, "code", 0)).min() >= 0.998
    few = half._by_torch(half.features(many[:9], "code"))
    assert cosines(few, whole.encode(many[:9], "code", 0)).min() >= 0.998
    assert half.spec.key != whole.spec.key


def test_what_openvino_cannot_convert_is_computed_by_torch_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    encoder, many = made("minilm", tmp_path), texts(60)
    encoder.network.transformer.embeddings.register_forward_hook(
        lambda module, given, rows: torch.special.bessel_j0(rows)
    )
    encoder._computed = 1_000
    root = logging.getLogger()
    before = root.level, list(root.filters)
    assert encoder.encode(many, "code", 0).shape == (60, 64)
    assert "'minilm' is computed by torch: OpenVINO cannot compute it: " in caplog.text
    assert "No conversion rule found for operations: aten::special_bessel_j0" in caplog.text
    assert (root.level, root.filters) == before


def test_texts_too_long_for_openvino_are_computed_by_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transformer, "_LONGEST_COMPILED", 64)
    encoder = made("jina-embeddings-v3", tmp_path)
    many = ["sort", "sort " * 100]
    assert max(map(len, encoder._tokenizer.tokenise(many, "code"))) > 64
    by_torch = encoder.encode(many, "code", 2)
    encoder._computed = 1_000
    found = encoder.encode(many, "code", 2)
    assert encoder._compiled[encoder.spec.code_adapter] is not None
    assert cosines(found, by_torch).min() >= 0.9999


def test_what_openvino_computes_otherwise_is_computed_by_torch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CompiledModule, "__call__", lambda _, features: np.ones((4, 64)))
    encoder, many = made("minilm", tmp_path), texts(60)
    encoder._computed = 1_000
    found = encoder.encode(many, "code", 0)
    assert "'minilm' is computed by torch: OpenVINO's vectors have cosines down to" in caplog.text
    assert cosines(found[:9], encoder.encode(many[:9], "code", 0)).min() >= 0.9999


def test_a_module_takes_batches_of_any_shape_side_by_side() -> None:
    class Sums(torch.nn.Module):
        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return (ids * mask).sum(dim=1, keepdim=True).float()

    module = CompiledModule(Sums(), "float32", 2)
    into = np.full((60, 1), -1, np.float32)
    for row in range(0, 60, 3):
        ids = torch.full((3, row + 1), row)
        features = {"input_ids": ids, "attention_mask": ids * 0 + 1}
        module.start(features, [row, row + 1, row + 2], into)
    module.wait()
    assert into[:, 0].tolist() == [row // 3 * 3 * (row // 3 * 3 + 1) for row in range(60)]


HEARD = """
import os, sys, torch
def heard(event, arguments):
    if event.startswith(("socket.connect", "socket.getaddrinfo", "urllib", "os.fork")):
        print("HEARD", event, arguments, flush=True)
sys.addaudithook(heard)
from tasks.encoders._openvino import CompiledModule
class Sums(torch.nn.Module):
    def forward(self, ids, mask):
        return (ids * mask).sum(dim=1, keepdim=True).float()
CompiledModule(Sums(), "float32", 1)
from openvino.tools.ovc import telemetry_utils
print(telemetry_utils.tm.__name__, sys.modules["openvino_telemetry"], os.listdir())
"""


def test_openvino_opens_no_connection_and_leaves_no_file_of_consent(tmp_path: Path) -> None:
    surroundings = {key: value for key, value in os.environ.items() if key != "CI"}
    done = subprocess.run(
        [sys.executable, "-c", HEARD],
        env=surroundings | {"HOME": str(tmp_path)}, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["openvino.tools.ovc.telemetry_stub", "None", "[]"]
