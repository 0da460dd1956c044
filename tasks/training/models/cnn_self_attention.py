"""CodeSearchNet's convolutions with self-attention behind them."""

from torch import nn

from tasks.training.models import _codesearchnet as shared
from tasks.training.models import models


@models.register("cnn-self-attention")
class CnnSelfAttention(shared.CodeSearchNetModel):
    """2 convolutions of width 8, then 2 layers of a small BERT."""

    recipe = shared.RECIPE.model_copy(update={"learning_rate": 5e-4, "batch_size": 650})

    def layers_for(self, length: int, /) -> list[nn.Module]:
        """Return convolutions and BERT's layers."""
        return [shared.Convolutions(2, 8), shared.SelfAttention(2, length)]
