"""Laws of the encoders over Hugging Face checkpoints, on small ones (`_transformer` and its users).

Codebert, codet5p, minilm and unixcoder are the users.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from infra.errors import EncoderError
from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder
from tests.fakes.checkpoints import make_checkpoint

TEXT = "def add(a, b): return a + b"
# Stored vectors are found by these keys: none of them may ever change for the same vectors.
KEYS = {
    "codebert": "5f4d4bfe568a6f78055b",
    "codet5p": "dd52b18f0fb7cbefd418",
    "minilm": "eff971f48e7b2f367d9e",
    "unixcoder": "f410d8b9ac4b1db5154a",
}


@pytest.fixture(params=sorted(KEYS))
def encoder(request: pytest.FixtureRequest, tmp_path: Path) -> TransformerEncoder:
    kind = encoders.get(request.param)
    loaded = kind(make_checkpoint(request.param, tmp_path, kind.spec.dimension))
    assert isinstance(loaded, TransformerEncoder)
    return loaded


@pytest.mark.parametrize("name", KEYS)
def test_stored_vectors_keep_their_key(name: str) -> None:
    assert encoders.get(name).spec.key == KEYS[name]


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
    ids = torch.tensor(encoder._tokenise([TEXT]))
    with torch.inference_mode():
        hidden = encoder._model(input_ids=ids).last_hidden_state[0]
        pooled = hidden.mean(dim=0) if encoder.spec.pooling == "mean" else hidden[0]
        if encoder.spec.name == "codet5p":
            pooled = encoder._model.proj(pooled)
    expected = (pooled / pooled.norm()).numpy()
    assert np.allclose(encoder.encode([TEXT], "query", 1)[0], expected, atol=1e-5)


def test_a_changed_specification_has_another_key_but_a_reworded_source_does_not() -> None:
    spec = encoders.get("minilm").spec
    for changed in ({"max_length": 128}, {"pooling": "first"}, {"revision": "2"}, {"dimension": 1}):
        assert spec.model_copy(update=changed).key != spec.key
    assert spec.model_copy(update={"source": "elsewhere", "licence": "MIT"}).key == spec.key


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
