"""CodeSearchNet's convolutions with self-attention behind them."""

from typing import ClassVar

from torch import Tensor, nn

from tasks.training.models import models
from tasks.training.models._codesearchnet import (
    RECIPE,
    CodeSearchNetModel,
    Convolutions,
    SelfAttention,
)
from tasks.training.recipes import Recipe


@models.register("cnn-self-attention")
class CnnSelfAttention(CodeSearchNetModel):
    """2 convolutions of width 8, then 2 layers of a small BERT."""

    recipe: ClassVar[Recipe] = RECIPE.model_copy(update={"learning_rate": 5e-4, "batch_size": 650})

    def layers(self, length: int, /) -> nn.Module:
        """Return convolutions and BERT's layers."""
        return _Both(length)


class _Both(nn.Module):
    def __init__(self, length: int) -> None:
        super().__init__()
        self.convolutions = Convolutions(2, 8)
        self.attention = SelfAttention(2, length)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        found: Tensor = self.attention(self.convolutions(vectors, mask), mask)
        return found
