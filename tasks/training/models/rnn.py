"""CodeSearchNet's bidirectional RNN."""

from typing import ClassVar

from torch import nn

from tasks.training.models import models
from tasks.training.models._codesearchnet import RECIPE, SIZE, CodeSearchNetModel
from tasks.training.models._layers import BidirectionalLstm
from tasks.training.recipes import Recipe


@models.register("rnn")
class Rnn(CodeSearchNetModel):
    """A bidirectional LSTM: 2 layers of 64 units a direction, whose outputs keep 0.8."""

    recipe: ClassVar[Recipe] = RECIPE

    def layers(self, _length: int, /) -> nn.Module:
        """Return the LSTM."""
        return BidirectionalLstm(SIZE, SIZE // 2, layers=2, dropout=0.2)
