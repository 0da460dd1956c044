"""CodeSearchNet's one-dimensional convolutions."""

from tasks.training.models import models
from tasks.training.models._codesearchnet import RECIPE, CodeSearchNetModel, Convolutions


@models.register("cnn")
class Cnn(CodeSearchNetModel):
    """3 convolutions of width 16 over token vectors and learned places."""

    recipe = RECIPE.model_copy(update={"learning_rate": 5e-4})

    def layers_for(self, length: int, /) -> list[Convolutions]:
        """Return the convolutions."""
        return [Convolutions(3, 16, length)]
