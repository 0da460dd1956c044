"""CodeSearchNet's neural bag of words."""

from tasks.training.models import models
from tasks.training.models._codesearchnet import RECIPE, CodeSearchNetModel


@models.register("neural-bag-of-words")
class NeuralBagOfWords(CodeSearchNetModel):
    """No layers; the own code's cosine must exceed the nearest other one's by a margin."""

    recipe = RECIPE.model_copy(update={"loss": "hardest-margin", "similarity": "cosine"})
