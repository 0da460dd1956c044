"""The losses against loops over pairs; a query's other answers are no wrong codes.

Covers the losses of `tasks.training.trainer`.
"""

from math import inf, log
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from tasks.training.recipes import RECIPES, Recipe
from tasks.training.trainer import PairLoss

# (query, code) of five pairs: the second and the fourth have one query, it and the fifth one code.
LABELS = torch.tensor([[0, 0], [1, 1], [2, 2], [1, 3], [3, 1]])
OTHERS = {(1, 3), (3, 1), (1, 4), (4, 1)}


class Given(nn.Module):
    """A model whose vectors are given."""

    def forward(self, features: dict[str, Any]) -> dict[str, Any]:
        return {"sentence_embedding": features["vectors"]}


def loss_of(recipe: Recipe, labels: Tensor, *vectors: Tensor) -> Tensor:
    loss: Tensor = PairLoss(Given(), recipe)([{"vectors": each} for each in vectors], labels)  # type: ignore[arg-type]
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


@pytest.mark.parametrize("similarity", ["product", "cosine"])
@pytest.mark.parametrize("loss", ["softmax", "hardest-margin", "random-margin"])
def test_a_loss_is_that_of_loops_without_other_answers(loss: str, similarity: str) -> None:
    recipe = RECIPES["codexglue"].model_copy(
        update={"loss": loss, "scale": 2.0, "margin": 0.7, "similarity": similarity}
    )
    generator = torch.Generator().manual_seed(1)
    for rows in ([0, 1, 2, 3, 4], [4, 2, 0], [1, 3], [1, 3, 4], [0, 3], [2]):
        queries, codes = (
            torch.randn(len(rows), 3, generator=generator, requires_grad=True) for _ in range(2)
        )
        here = {
            (i, j) for i, one in enumerate(rows) for j, other in enumerate(rows)
            if (one, other) in OTHERS
        }  # fmt: skip
        found = loss_of(recipe, LABELS[rows], queries, codes)
        sides = [queries.detach(), codes.detach()]
        asked, answers = map(normalize, sides) if similarity == "cosine" else sides
        assert found.item() == pytest.approx(plain(recipe, asked @ answers.T, here), abs=1e-5), rows
        found.backward()  # type: ignore[no-untyped-call]
        assert queries.grad is not None
        assert torch.isfinite(queries.grad).all()


def test_sixteen_right_codes_of_a_query_can_be_learnt() -> None:
    labels = torch.tensor([[row // 16, row] for row in range(64)])
    vectors = torch.eye(4).repeat_interleave(16, dim=0)
    recipe = RECIPES["cosqa-plus"]
    assert loss_of(recipe, labels, vectors, vectors).item() < 1e-3 < log(16)
