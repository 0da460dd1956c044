"""A model over ids of tokens, and the layers of several models.

Vectors of tokens are (texts, tokens, size); their mask is (texts, tokens) and false for padding.
Each text has at least one token, and its padding is at its end.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from tasks.encoders import Kind
from tasks.training.joint import JointModel
from tasks.training.model_text import PADDING, Split, code_tokens, ids, query_tokens, vocabulary
from tasks.training.recipes import Recipe

WEIGHTS = "model.safetensors"
_VOCABULARY = "vocabulary-"  # before a field's name
MARGIN_RECIPE = Recipe(
    name="kape-appendix",
    source="Gu et al. 2018, Deep Code Search, and its code; 500 epochs of Guo et al., KAPE",
    loss="random-margin",
    margin=0.05,
    epochs=500,
    batch_size=128,
    learning_rate=1e-3,
    schedule="constant",
    query_length=30,
    code_length=100,
    metric="MRR",
    dev_codes="own",
)


class TokenModel(JointModel):
    """A model whose texts have one or more fields of tokens, each with its own vocabulary.

    Attributes:
        fields: Kind of text → field → the function that splits a text into the field's tokens.
        lengths: The most tokens of fields without the recipe's length for the kind.
        min_count: The fewest occurrences of a token in a vocabulary of at most 10,000.
        pieces: Whether rarer tokens are cut into pieces.
    """

    fields: ClassVar[Mapping[Kind, Mapping[str, Split]]] = {
        "query": {"query": query_tokens},
        "code": {"code": code_tokens},
    }
    lengths: ClassVar[Mapping[str, int]] = {}
    min_count: ClassVar[int] = 1
    pieces: ClassVar[bool] = False

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__()
        self.vocabularies = vocabularies

    def table(self, field: str, size: int) -> nn.Embedding:
        """Return a table with a vector of that size for each entry of a field's vocabulary."""
        return nn.Embedding(self.vocabularies[field].get_vocab_size(), size, PADDING)

    @classmethod
    def of(cls, queries: Sequence[str], codes: Sequence[str], recipe: Recipe) -> Self:
        """Return a model with the vocabulary of these texts, and random weights by the seed."""
        texts = {"query": (queries, recipe.query_length), "code": (codes, recipe.code_length)}
        vocabularies = {}
        for kind, fields in cls.fields.items():
            for field, split in fields.items():
                tokens = (split(text) for text in texts[kind][0])
                length = cls.lengths.get(field, texts[kind][1])
                vocabularies[field] = vocabulary(tokens, length, cls.min_count, pieces=cls.pieces)
        return cls._made(vocabularies, recipe.seed)

    @classmethod
    def _made(cls, vocabularies: Mapping[str, Tokenizer], seed: int) -> Self:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(vocabularies)

    def features(self, texts: Sequence[str], kind: Kind) -> dict[str, Tensor]:
        """Return a (texts, tokens) tensor of ids for each field."""
        return {
            field: torch.tensor(ids(self.vocabularies[field], [split(text) for text in texts]))
            for field, split in self.fields[kind].items()
        }

    def save(self, folder: Path) -> None:
        """Write ``model.safetensors``, and a file ``vocabulary-FIELD.json`` for each field."""
        save_file(self.state_dict(), folder / WEIGHTS)
        for field, tokenizer in self.vocabularies.items():
            tokenizer.save(str(folder / f"{_VOCABULARY}{field}.json"))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote."""
        vocabularies = {
            file.stem.removeprefix(_VOCABULARY): Tokenizer.from_file(str(file))
            for file in sorted(folder.glob(f"{_VOCABULARY}*.json"))
        }
        model = cls._made(vocabularies, 0)
        model.load_state_dict(load_file(folder / WEIGHTS))
        return model


class BidirectionalLstm(nn.Module):
    """Two stacks of LSTM layers, one from each end, which do not see each other (TensorFlow 1)."""

    def __init__(self, size: int, hidden: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.forth = nn.LSTM(size, hidden, layers, batch_first=True, dropout=between)
        self.back = nn.LSTM(size, hidden, layers, batch_first=True, dropout=between)
        self.dropout = dropout

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return (texts, tokens, 2 x hidden)."""
        places = torch.arange(mask.shape[1], device=mask.device)
        turned = torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places).unsqueeze(2)
        back, _ = self.back(vectors.take_along_dim(turned, 1))
        forth, _ = self.forth(vectors)
        both = torch.cat([forth, back.take_along_dim(turned, 1)], 2)
        return nn.functional.dropout(both, self.dropout, self.training)


def attended(vectors: Tensor, scores: Tensor, mask: Tensor) -> Tensor:
    """Return (texts, size) means of tokens, weighted by the softmax of (texts, tokens) scores."""
    weights = scores.masked_fill(~mask, -torch.inf).softmax(1)
    return (vectors * weights.unsqueeze(2)).sum(1)
