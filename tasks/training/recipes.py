"""Recipes: how a model is trained, as papers and their code have it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from infra.records import Record
from tasks.encoders import Similarity

Loss = Literal["softmax", "hardest-margin", "random-margin", "none"]


class Recipe(Record):
    """How a model is trained on pairs of query and code.

    Attributes:
        name: What it is called.
        source: Where it is published.
        loss: ``softmax``: cross-entropy of each query's own code among all codes of the batch;
            ``hardest-margin``: the own code must be nearer than the nearest other one of the batch,
            by ``margin``; ``random-margin``: a code's own query nearer than another one of the
            batch, which is shuffled; ``none``: the model is made at once, of the queries and the
            whole code base. Codes that are known to be right for a query, or nearly equal to one,
            are none of its others.
        similarity: By which the loss compares query and code, and later whoever ranks by the model.
        scale: What similarities are multiplied by in ``softmax``.
        margin: Of the two margin losses.
        epochs: Times that all pairs are gone through, at most.
        batch_size: Pairs in a step.
        learning_rate: Of AdamW (without weight decay), at its highest.
        warm_up: Share of the steps in which the learning rate rises from 0.
        schedule: Whether it then falls to 0, ``linear``, or stays, ``constant``.
        pooling: How a transformer's tokens become a vector; None: as its base's do.
        query_length: Tokens of a query.
        code_length: Tokens of a code.
        metric: Of the dev queries after each epoch; the weights of the best epoch are kept.
        dev_codes: Codes that dev queries are ranked among: ``all`` of the benchmark, or their
            ``own``, those of the dev pairs.
        patience: Epochs without a better score after which training ends; 0 trains all epochs.
        names_as_queries: Share of the pairs whose query is the function's name, masked in the code.
        seed: Of weights, order of pairs and dropout.
    """

    name: str
    source: str
    loss: Loss = "softmax"
    similarity: Similarity = "cosine"
    scale: float = Field(1.0, gt=0)
    margin: float = Field(1.0, ge=0)
    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=2)
    learning_rate: float = Field(gt=0)
    warm_up: float = Field(0.0, ge=0, le=1)
    schedule: Literal["linear", "constant"] = "linear"
    pooling: Literal["mean", "first", "pooler", "last"] | None = None
    query_length: int = Field(128, ge=4)
    code_length: int = Field(256, ge=4)
    metric: Literal["NDCG@10", "MRR"] = "NDCG@10"
    dev_codes: Literal["all", "own"] = "all"
    patience: int = Field(0, ge=0)
    names_as_queries: float = Field(0.0, ge=0, lt=1)
    seed: int = Field(123456, ge=0)


_COSQA_PLUS = Recipe(
    name="cosqa-plus",
    source="Gong et al. 2024, CoSQA+, and its authors' code",
    scale=20.0,
    epochs=10,
    batch_size=64,
    learning_rate=2e-5,
)
_CODEXGLUE = Recipe(
    name="codexglue",
    source="Lu et al. 2021, CodeXGLUE, and its code for NL-code-search-Adv",
    similarity="product",
    epochs=2,
    batch_size=32,
    learning_rate=5e-5,
    warm_up=0.1,
    pooling="pooler",
    query_length=256,
    metric="MRR",
    dev_codes="own",
)
_KAPE = _CODEXGLUE.model_copy(
    update={"name": "kape", "source": "Guo et al., KAPE; else as codexglue", "epochs": 5}
)

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {recipe.name: recipe for recipe in (_COSQA_PLUS, _CODEXGLUE, _KAPE)}
)
