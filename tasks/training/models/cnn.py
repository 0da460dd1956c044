"""CodeSearchNet's one-dimensional convolutions."""

from typing import ClassVar

from torch import nn

from tasks.training.models import models
from tasks.training.models._codesearchnet import RECIPE, CodeSearchNetModel, Convolutions
from tasks.training.recipes import Recipe


@models.register("cnn")
class Cnn(CodeSearchNetModel):
    """3 convolutions of width 16 over token vectors and learned places."""

    recipe: ClassVar[Recipe] = RECIPE.model_copy(update={"learning_rate": 5e-4})

    def layers(self, length: int, /) -> nn.Module:
        """Return the convolutions."""
        return Convolutions(3, 16, length)
