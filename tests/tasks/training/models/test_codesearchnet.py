"""What CodeSearchNet's models have of their own; covers `_codesearchnet.py` and the five models."""

import pytest
import torch
from torch import nn

from tasks.training.models import models
from tasks.training.models._codesearchnet import Convolutions


@pytest.mark.parametrize(
    ("name", "rate", "batch", "loss"),
    [
        ("neural-bag-of-words", 0.01, 1000, "hardest-margin"),
        ("rnn", 0.01, 1000, "softmax"),
        ("cnn", 5e-4, 1000, "softmax"),
        ("self-attention", 5e-4, 450, "softmax"),
        ("cnn-self-attention", 5e-4, 650, "softmax"),
    ],
)
def test_recipes_are_those_of_the_published_code(
    name: str, rate: float, batch: int, loss: str
) -> None:
    recipe = models.get(name).recipe
    assert (recipe.learning_rate, recipe.batch_size, recipe.loss) == (rate, batch, loss)
    assert (recipe.query_length, recipe.code_length, recipe.patience) == (30, 200, 5)
    assert recipe.similarity == ("cosine" if loss == "hardest-margin" else "product")


def test_a_convolution_sees_seven_tokens_before_and_eight_behind() -> None:
    layer = Convolutions(1, 16).eval()
    convolution = layer.layers[0]
    assert isinstance(convolution, nn.Conv1d)
    nn.init.ones_(convolution.weight)
    nn.init.zeros_(convolution.bias)  # type: ignore[arg-type]
    vectors = torch.zeros(1, 30, 128)
    vectors[0, 15, 0] = 1.0
    seen = layer(vectors, torch.ones(1, 30, dtype=torch.bool))[0, :, 0] > 0
    assert seen.nonzero().flatten().tolist() == list(range(7, 23))
