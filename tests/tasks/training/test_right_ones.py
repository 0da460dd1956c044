"""Laws of what a loss draws as wrong: nothing that is known to be right.

Covers the losses of `tasks.training.trainer`.
"""

from math import inf, log
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tasks.training.recipes import RECIPES, Recipe
from tasks.training.trainer import RightOnes, _MarginLoss, _SoftmaxLoss

LONG = "def total(rows):\n" + "".join(f"    sum_{i} = rows[{i}].price_{i}\n" for i in range(20))
CODES = (
    LONG,
    "def largest(values):\n    return max(values)",
    LONG + "    return rows",  # nearly equal to the first
    "def read(path):\n    return open(path).read()",
    "def largest(values):\n    return max(values)",
)
QUERIES = ("sum prices", "Find the largest", "add up", "find the largest", "maximum of a list")
OTHERS = {(0, 2), (2, 0), (1, 3), (3, 1), (1, 4), (4, 1), (3, 4)}


class Given(nn.Module):
    """A model whose vectors are given."""

    def forward(self, features: dict[str, Any]) -> dict[str, Any]:
        return {"sentence_embedding": features["vectors"]}


def loss_of(recipe: Recipe, right: RightOnes, rows: Tensor, *vectors: Tensor) -> Tensor:
    kind: Any = _SoftmaxLoss if recipe.loss == "softmax" else _MarginLoss
    loss: Tensor = kind(Given(), recipe, right)([{"vectors": each} for each in vectors], rows)
    return loss


def plain(recipe: Recipe, similar: Tensor, others: set[tuple[int, int]]) -> float:
    """Return the loss, by loops over pairs."""
    number, losses = len(similar), []
    for own in range(number):
        wrong = [j for j in range(number) if j != own and (own, j) not in others]
        mine = float(similar[own, own])
        if recipe.loss == "softmax":
            each = [recipe.scale * float(similar[own, j]) for j in [own, *wrong]]
            losses.append(float(torch.tensor(each).logsumexp(0)) - recipe.scale * mine)
        elif recipe.loss == "hardest-margin":
            hardest = max((float(similar[own, j]) for j in wrong), default=0.0)
            losses.append(max(0.0, recipe.margin - mine + max(0.0, hardest)))
        else:
            after = [(own + step) % number for step in range(1, number)]
            queries = [i for i in after if (i, own) not in others]
            other = float(similar[queries[0], own]) if queries else -inf
            losses.append(max(0.0, recipe.margin - mine + other))
    return sum(losses) / number


@pytest.mark.parametrize("loss", ["softmax", "hardest-margin", "random-margin"])
def test_what_is_right_is_drawn_as_wrong_by_no_loss(loss: str) -> None:
    recipe = RECIPES["codexglue"].model_copy(update={"loss": loss, "scale": 2.0, "margin": 0.7})
    right = RightOnes(CODES, QUERIES, QUERIES)
    generator = torch.Generator().manual_seed(1)
    for rows in ([0, 1, 2, 3, 4], [4, 2, 0], [1, 3], [1, 3, 4], [0, 3], [2]):
        queries, codes = (
            torch.randn(len(rows), 3, generator=generator, requires_grad=True) for _ in range(2)
        )
        here = {
            (i, j) for i, one in enumerate(rows) for j, other in enumerate(rows)
            if i != j and (one, other) in OTHERS
        }  # fmt: skip
        found = loss_of(recipe, right, torch.tensor(rows), queries, codes)
        expected = plain(recipe, queries.detach() @ codes.detach().T, here)
        assert found.item() == pytest.approx(expected, abs=1e-5), rows
        found.backward()  # type: ignore[no-untyped-call]
        assert queries.grad is not None
        assert torch.isfinite(queries.grad).all()


def test_another_right_one_is_by_query_by_code_and_by_near_code() -> None:
    found = RightOnes(CODES, QUERIES).of(torch.arange(5)).nonzero().tolist()
    assert {(i, j) for i, j in found} == OTHERS
    renamed = RightOnes(CODES, QUERIES, ["a", "b", "c", "d", "A"]).of(torch.arange(5))
    assert renamed[0, 4]
    assert renamed[1, 3]


def test_sixteen_right_codes_of_a_query_can_be_learnt() -> None:
    queries = [f"query {row // 16}" for row in range(64)]
    right = RightOnes([f"code {row}" for row in range(64)], queries)
    vectors = torch.eye(4).repeat_interleave(16, dim=0)
    recipe = RECIPES["cosqa-plus"]
    assert loss_of(recipe, right, torch.arange(64), vectors, vectors).item() < 1e-3 < log(16)
