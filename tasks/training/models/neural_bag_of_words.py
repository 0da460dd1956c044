"""CodeSearchNet's neural bag of words: the learned weighted mean of token vectors."""

from typing import ClassVar

from tasks.training.models import models
from tasks.training.models._codesearchnet import RECIPE, CodeSearchNetModel
from tasks.training.recipes import Recipe


@models.register("neural-bag-of-words")
class NeuralBagOfWords(CodeSearchNetModel):
    """No layers; trained by a cosine that must exceed the hardest other one's by a margin."""

    recipe: ClassVar[Recipe] = RECIPE.model_copy(
        update={"loss": "hardest-margin", "similarity": "cosine", "margin": 1.0}
    )
