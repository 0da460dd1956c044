"""The section of the settings on training."""

from typing import Literal

from pydantic import Field

from infra.settings.section import Section


class TrainingSettings(Section):
    """The model that `cosqa train` trains, and its options; the recipe gives the others."""

    base: str = Field(
        "minilm",
        description="Encoder that is fine-tuned, or model that is trained from nothing.",
    )
    recipe: str = Field(
        "",
        description="How it is trained; none given takes that of a model trained from nothing, "
        "else cosqa-plus.",
    )
    name: str = Field(
        "",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,99})?$",
        description="Name of the encoder that comes out; none given joins those of base and data.",
    )
    epochs: int | None = Field(None, ge=1, description="Times that all pairs are gone through.")
    batch_size: int | None = Field(None, ge=2, description="Pairs in a step.")
    learning_rate: float | None = Field(None, gt=0, description="Highest learning rate.")
    seed: int | None = Field(
        None, ge=0, description="Seed of the weights, the order of the pairs and dropout."
    )
    split: str = Field(
        "8:1:1",
        pattern=r"^[1-9][0-9]{0,2}:[1-9][0-9]{0,2}:[1-9][0-9]{0,2}$",
        description="Ratio of training, dev and test queries of data that is not split.",
    )
    split_by: Literal["query", "repository"] = Field(
        "query",
        description="What the split keeps together: a query, or all code of a repository (of "
        "installed code: of a package).",
    )
