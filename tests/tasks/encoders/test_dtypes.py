"""Laws of encoders in another dtype: names, identities, numbers, and what is refused.

Covers `tasks.encoders._layers`.
"""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from infra.errors import CosqaError, EncoderError, SettingsError, UnknownNameError
from infra.settings import SearchSettings, Settings
from tasks.encoders import DTYPES, Encoder, encoders, split_dtype
from tasks.encoders._layers import Int8Linear, PackedLinear, check_dtype
from tasks.runtime.input_checks import with_named_encoders
from tests.fakes.checkpoints import computable, make_checkpoint

TEXTS = ["def add(a, b): return a + b", "sort the list " * 30, "x", "", "read a json file"]
CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("name", "base", "dtype"),
    [
        ("minilm", "minilm", "float32"),
        ("minilm@int8", "minilm", "int8"),
        ("hub:org/model@main", "hub:org/model@main", "float32"),
        ("hub:org/model@main@bfloat16", "hub:org/model@main", "bfloat16"),
        ("checkpoint:a=/b@c?like=minilm@float16", "checkpoint:a=/b@c?like=minilm", "float16"),
        ("@int8", "@int8", "float32"),
    ],
)
def test_a_dtype_is_the_last_part_of_a_name_or_a_reference(
    name: str, base: str, dtype: str
) -> None:
    assert split_dtype(name) == (base, dtype)


def test_each_dtype_has_its_own_name_and_key_and_float32_is_the_encoder_itself() -> None:
    specs = [encoders.get(f"minilm@{dtype}").spec for dtype in DTYPES]
    assert encoders.get("minilm@float32") is encoders.get("minilm")
    assert len({spec.key for spec in specs}) == len({spec.name for spec in specs}) == len(DTYPES)
    assert encoders.adopt("minilm@int8") == "minilm@int8"
    assert encoders.is_pinned("minilm@int8")
    assert encoders.has("minilm@int8")
    assert not encoders.has("nobody@int8")


def test_a_reference_in_two_dtypes_is_two_encoders_and_two_references_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "_entries", dict(encoders._entries))  # nothing of it stays
    first, second = (
        f"checkpoint:mine={make_checkpoint('minilm', tmp_path / name, 32)}?pooling={name}"
        for name in ("mean", "first")
    )

    def named(*references: str) -> tuple[str, ...]:
        search = SearchSettings(encoders=references)
        return with_named_encoders(Settings(search=search)).search.encoders

    assert named(first, f"{first}@bfloat16") == ("mine", "mine@bfloat16")
    found = pickle.loads(pickle.dumps(encoders.get("mine@bfloat16")))  # as it goes to a worker
    assert found.spec.key == encoders.get(f"{first}@bfloat16").spec.key
    if computable("bfloat16"):
        assert found().encode(TEXTS, "code", 0).shape == (len(TEXTS), 32)
    with pytest.raises(SettingsError, match="are both named 'mine'"):
        named(first, f"{second}@bfloat16")


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        ("text-embedding-3-large@int8", SettingsError, "only transformers can; leave @int8 out"),
        ("minilm@bfloat16@int8", SettingsError, "has two dtypes: leave one out"),
        ("nobody@int8", UnknownNameError, "unknown encoder 'nobody'"),
        ("minilm@float64", UnknownNameError, "unknown encoder 'minilm@float64'.*@bfloat16"),
    ],
)
def test_a_dtype_that_cannot_be_is_an_error(name: str, error: type[CosqaError], told: str) -> None:
    with pytest.raises(error, match=told):
        encoders.get(name)


@pytest.mark.parametrize(
    ("dtype", "device"), [("bfloat16", CPU), ("int8", CPU), ("float16", CPU), ("int8", GPU)]
)
def test_a_dtype_that_the_machine_lacks_is_refused_instead_of_another_in_its_place(
    dtype: str, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)  # an old processor
    check_dtype("minilm", "float32", device)
    with pytest.raises(EncoderError, match=rf"encoder minilm@{dtype}: this .PU|this processor"):
        check_dtype(f"minilm@{dtype}", dtype, device)  # type: ignore[arg-type]


@pytest.mark.parametrize(("dtype", "least"), [("bfloat16", 0.9995), ("int8", 0.99)])
@pytest.mark.parametrize(
    "name",
    [
        "minilm",
        "codet5p",
        "all-mpnet-base-v2",
        pytest.param("jina-embeddings-v3", marks=pytest.mark.exhaustive),
    ],
)
def test_vectors_are_near_those_of_float32(
    name: str, dtype: str, least: float, tmp_path: Path
) -> None:
    if not computable(dtype):
        pytest.skip(f"this processor has no {dtype}")
    folder = make_checkpoint(name, tmp_path, encoders.get(name).spec.dimension)
    exact, other = (
        encoders.get(one)(folder).encode(TEXTS, "code", 0) for one in (name, f"{name}@{dtype}")
    )
    cosines = np.sum(exact * other, axis=1)
    assert least <= cosines.min() < 1 - 1e-7
    assert np.allclose(np.linalg.norm(other, axis=1), 1, atol=1e-5)


def test_dense_layers_are_those_of_torch_but_for_rounding() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(96, 40)
    rows = torch.randn(3, 7, 96) * torch.rand(3, 7, 1) * 5
    with torch.inference_mode():
        expected = layer(rows)
        assert torch.allclose(PackedLinear(layer, torch.float32)(rows), expected, atol=1e-5)
        if computable("int8"):
            assert (Int8Linear(layer)(rows) - expected).norm() < 0.02 * expected.norm()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["minilm", "codebert-base"])
def test_vectors_on_a_gpu_are_near_those_of_float32(name: str, dtype: str, tmp_path: Path) -> None:
    folder = make_checkpoint(name, tmp_path, encoders.get(name).spec.dimension)
    exact, other = (
        encoders.get(one)(folder).encode(TEXTS, "code", 0) for one in (name, f"{name}@{dtype}")
    )
    assert np.sum(exact * other, axis=1).min() > 0.9995


def test_a_damaged_model_gives_an_error_and_no_vector(tmp_path: Path) -> None:
    encoder: Encoder = encoders.get("minilm")(make_checkpoint("minilm", tmp_path, 384))
    with torch.no_grad():
        encoder._model.embeddings.word_embeddings.weight.fill_(float("nan"))  # type: ignore[attr-defined]
    with pytest.raises(EncoderError, match="2 of 2 texts a vector that is zero or not finite"):
        encoder.encode(["a", "b", "a"], "code", 0)
