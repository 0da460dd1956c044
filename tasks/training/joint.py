"""The base of models that are trained from nothing."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from torch import Tensor, nn

from tasks.encoders import Kind
from tasks.training.recipes import Recipe

Features = Mapping[str, Tensor]


class JointModel(nn.Module):
    """A model with a side for queries and a side for code, whose vectors are compared.

    Attributes:
        recipe: Its recipe where no other is named.
        dimension: Length of a vector.
    """

    recipe: ClassVar[Recipe]
    dimension: int

    @classmethod
    def of(cls, queries: Sequence[str], codes: Sequence[str], recipe: Recipe) -> Self:
        """Return a model with the vocabulary of these texts, and random weights by the seed.

        Args:
            queries: The training queries.
            codes: The code of each, in the same order.
            recipe: The recipe of its training, with the lengths of texts.
        """
        raise NotImplementedError

    def features(self, texts: Sequence[str], kind: Kind) -> dict[str, Tensor]:
        """Return the input of `forward`, padded to one length, on the CPU."""
        raise NotImplementedError

    def forward(self, features: Features, kind: Kind) -> Tensor:
        """Return (texts, dimension) vectors, not of unit length."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write weights and vocabulary into a folder that exists."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote; any error says that a file is damaged."""
        raise NotImplementedError
