"""A trained folder as an encoder: what it says of itself, and damaged ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.errors import EncoderError, UnknownNameError
from tasks.encoders import encoders
from tasks.training.encoder import Description, JointSpec, read_description, write_description
from tasks.training.models import models
from tests.tasks.training.world import rows, vectors_of

TEXTS = [line["query"] for line in rows(150)]


def trained(folder: Path, name: str = "cnn") -> Any:
    """Write a model with random weights as a trained folder; return the model."""
    kind = models.get(name)
    codes = [line["code"] for line in rows(150)]
    model = kind.of(TEXTS, codes, kind.recipe).eval()
    folder.mkdir()
    model.save(folder)
    description = Description(
        kind=name, dimension=model.dimension, recipe=kind.recipe, recipe_hash="h", data="d",
        data_fingerprint="f", licences=("MIT", "unknown"),
    )  # fmt: skip
    write_description(folder, description)
    assert read_description(folder) == description
    return model


def test_a_model_that_begins_with_nothing_is_read_by_what_it_says_of_itself(tmp_path: Path) -> None:
    model = trained(tmp_path / "m")
    encoder = encoders.get(f"checkpoint:own={tmp_path / 'm'}")()
    spec = encoder.spec
    assert isinstance(spec, JointSpec)
    assert (spec.name, spec.kind, spec.dimension) == ("own", "cnn", model.dimension)
    assert spec.similarity == model.recipe.similarity
    assert spec.licence == "MIT AND unknown"
    found = encoder.encode(TEXTS, "query", 0)
    expected = vectors_of(model, TEXTS, "query", spec.similarity)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("damage", ["{", "{}", '{"kind": "cnm"}'])
def test_a_description_that_cannot_be_read_is_named(tmp_path: Path, damage: str) -> None:
    trained(tmp_path / "m")
    (tmp_path / "m" / "encoder.json").write_text(damage)
    with pytest.raises(EncoderError, match=r"encoder\.json cannot be read"):
        encoders.get(f"checkpoint:own={tmp_path / 'm'}")


def test_a_kind_that_this_release_lacks_is_named(tmp_path: Path) -> None:
    trained(tmp_path / "m")
    file = tmp_path / "m" / "encoder.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"kind": "cnm"}))
    with pytest.raises(UnknownNameError, match="'cnm'"):
        encoders.get(f"checkpoint:own={tmp_path / 'm'}")()
