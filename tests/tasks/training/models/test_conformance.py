"""Laws that every model to train keeps.

Covers `tasks.training.models.*` and `tasks.training.recipes`.
"""

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from infra.errors import EncoderError
from tasks.encoders import Kind
from tasks.training.encoder import JointEncoder, JointSpec
from tasks.training.joint import JointModel
from tasks.training.models import models
from tasks.training.recipes import RECIPES

QUERIES = ["read a json file", "sort the list", "add two numbers", "send mail"] * 3
CODES = [
    "def read(path):\n    with open(path) as file:\n        return json.load(file)\n",
    "def ordered(items):\n    return sorted(items)\n",
    "def add(a, b):\n    return a + b\n",
    "def send(text):\n    smtp.connect(HOST)\n    smtp.send(text)\n",
] * 3


BOTH: list[tuple[Kind, list[str]]] = [("query", QUERIES), ("code", CODES)]


def made(name: str, seed: int = 7) -> JointModel:
    kind = models.get(name)
    recipe = kind.recipe.model_copy(update={"seed": seed, "query_length": 6, "code_length": 40})
    model: JointModel = kind.of(QUERIES, CODES, recipe).eval()
    return model


def vectors(model: JointModel, texts: list[str], kind: Kind) -> Tensor:
    with torch.no_grad():
        return model.forward(model.features(texts, kind), kind)


@pytest.fixture(scope="module", params=list(models))
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def model(name: str) -> JointModel:
    return made(name)


def test_vectors_are_finite_and_of_the_dimension(model: JointModel) -> None:
    for kind, texts in BOTH:
        found = vectors(model, texts, kind)
        assert found.shape == (len(texts), model.dimension)
        assert found.isfinite().all()


def test_odd_texts_have_a_vector_of_some_length(model: JointModel) -> None:
    for text in ["", "   ", "\x00", "ÿ€ 未", "def (", "<pad>", "x " * 500]:
        for kind, _ in BOTH:
            found = vectors(model, [text], kind)
            assert found.isfinite().all(), text
            assert found.norm() > 0, text


def test_a_vector_does_not_depend_on_the_texts_beside_it(model: JointModel) -> None:
    for kind, texts in BOTH:
        together = vectors(model, [*texts[:4], ""], kind)
        alone = [vectors(model, [text], kind) for text in [*texts[:4], ""]]
        torch.testing.assert_close(together, torch.cat(alone), atol=1e-6, rtol=1e-5)


def test_queries_and_codes_have_sides_of_their_own(model: JointModel) -> None:
    text = "read read json"
    assert not torch.allclose(vectors(model, [text], "query"), vectors(model, [text], "code"))


def test_a_saved_model_gives_the_same_vectors(name: str, model: JointModel, tmp_path: Path) -> None:
    model.save(tmp_path)
    again = models.get(name).load(tmp_path).eval()
    assert again.dimension == model.dimension
    for kind, texts in BOTH:
        asked = [*texts, "unheard_of(1)"]
        torch.testing.assert_close(
            vectors(again, asked, kind), vectors(model, asked, kind), atol=1e-6, rtol=0
        )


def test_a_folder_without_a_file_or_with_a_damaged_one_is_refused(
    name: str, model: JointModel, tmp_path: Path
) -> None:
    model.save(tmp_path)
    spec = JointSpec(
        name="damaged", model="m", revision="r", licence="MIT", source="s",
        kind=name, dimension=model.dimension, similarity=model.recipe.similarity,
    )  # fmt: skip
    for file in sorted(tmp_path.iterdir()):
        whole = file.read_bytes()
        for part in (whole[: len(whole) // 2], None):
            file.write_bytes(part) if part else file.unlink()
            with pytest.raises(EncoderError, match="cannot load encoder 'damaged'"):
                JointEncoder(tmp_path, spec)
        file.write_bytes(whole)


def test_vocabulary_depends_on_the_texts_and_weights_on_the_seed_alone(
    name: str, model: JointModel
) -> None:
    torch.rand(3)
    state = torch.get_rng_state()
    again = made(name)
    for kind, texts in BOTH:
        own_features, features = model.features(texts, kind), again.features(texts, kind)
        assert all(torch.equal(own_features[key], features[key]) for key in features)
    same, other = again.state_dict(), made(name, seed=8).state_dict()
    assert torch.equal(torch.get_rng_state(), state)
    own = model.state_dict()
    assert all(torch.equal(own[key], same[key]) for key in own)
    assert any(not torch.equal(own[key], other[key]) for key in own)


def test_the_recipe_is_complete(name: str) -> None:
    recipe = models.get(name).recipe
    assert recipe.name not in RECIPES
    assert recipe.source


def test_the_loss_falls(name: str) -> None:
    model = made(name)
    if model.recipe.loss == "none":
        assert not list(model.parameters())
        return
    features = [(model.features(texts[:4], kind), kind) for kind, texts in BOTH]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    losses = []
    for _ in range(15):
        asked, said = (normalize(model.forward(*side)) for side in features)
        loss = cross_entropy(5 * asked @ said.T, torch.arange(4))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
