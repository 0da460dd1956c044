"""Laws of the encoders, on small checkpoints of the same architectures."""

from pathlib import Path

import numpy as np
import pytest
import torch

from infra.errors import EncoderError
from tasks.encoders import Encoder, encoders
from tasks.encoders._transformer import TransformerEncoder
from tests.fakes.checkpoints import make_checkpoint

TEXTS = ["def add(a, b): return a + b", "read", "sort the list " * 400, "x", "read a json file"]


@pytest.fixture(params=encoders.names())
def encoder(request: pytest.FixtureRequest, tmp_path: Path) -> TransformerEncoder:
    kind: type[Encoder] = encoders.get(request.param)
    loaded = kind(make_checkpoint(request.param, tmp_path, kind.spec.dimension))
    assert isinstance(loaded, TransformerEncoder)
    return loaded


def test_vectors_have_unit_length_and_the_stated_dimension(encoder: TransformerEncoder) -> None:
    vectors = encoder.encode(TEXTS, "code", batch_size=2)
    assert vectors.shape == (len(TEXTS), encoder.spec.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_a_vector_does_not_depend_on_its_batch(encoder: TransformerEncoder) -> None:
    together = encoder.encode(TEXTS, "code", batch_size=5)
    alone = np.vstack([encoder.encode([text], "code", batch_size=1) for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-5)
    assert not np.allclose(together[0], together[4], atol=1e-3)


def test_texts_are_cut_to_the_stated_length_with_the_special_tokens_in_place(
    encoder: TransformerEncoder,
) -> None:
    [ids] = encoder._tokenise(["sort the list " * 400])
    tokens = encoder._tokenizer.convert_ids_to_tokens(ids)
    spec = encoder.spec
    assert len(tokens) == spec.max_length
    assert tuple(tokens[: len(spec.before)]) == spec.before
    assert tuple(tokens[-len(spec.after) :]) == spec.after


def test_the_vector_is_that_of_the_stated_pooling(encoder: TransformerEncoder) -> None:
    ids = torch.tensor(encoder._tokenise([TEXTS[0]]))
    with torch.inference_mode():
        hidden = encoder._model(input_ids=ids).last_hidden_state[0]
        pooled = hidden.mean(dim=0) if encoder.spec.pooling == "mean" else hidden[0]
        if encoder.spec.name == "codet5p":
            pooled = encoder._model.proj(pooled)
    expected = (pooled / pooled.norm()).numpy()
    assert np.allclose(encoder.encode(TEXTS[:1], "query", 1)[0], expected, atol=1e-5)


def test_no_texts_give_no_vectors(encoder: TransformerEncoder) -> None:
    assert encoder.encode([], "code", 8).shape == (0, encoder.spec.dimension)


def test_every_specification_is_pinned_and_has_its_own_key() -> None:
    specs = [encoders.get(name).spec for name in encoders]
    assert [spec.name for spec in specs] == encoders.names()
    assert all(spec.revision and spec.licence and spec.source for spec in specs)
    assert len({spec.key for spec in specs}) == len(specs)


def test_a_changed_specification_has_another_key_but_a_reworded_source_does_not() -> None:
    spec = encoders.get("minilm").spec
    assert spec.model_copy(update={"max_length": 128}).key != spec.key
    assert spec.model_copy(update={"source": "elsewhere"}).key == spec.key


def test_a_missing_checkpoint_is_an_error_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"cannot load encoder 'codebert'.*\n.*HF_HOME"):
        encoders.get("codebert")(tmp_path / "nowhere")


def test_the_carried_minilm_knows_that_like_is_near_like() -> None:
    vectors = encoders.get("minilm")().encode(
        ["read a json file", "def load_json(path): return json.load(open(path))", "bake a cake"],
        "code",
        batch_size=3,
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
