"""What training gives: a folder that is an encoder, with how and by what it was trained.

``encoder.json`` says how the folder is read: its ``kind`` is ``transformer`` or the name of a model
of `tasks.training.models`; and what it was trained by: recipe, base, data and their licences.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field, ValidationError

from infra.batches import batched
from infra.errors import EncoderError, SettingsError
from infra.records import Record
from tasks.encoders import EncoderSpec, Kind, Similarity, Vectors, of_wrong_length
from tasks.encoders._checkpoint import TRAINED
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec
from tasks.training.recipes import Recipe

if TYPE_CHECKING:
    import torch

    from tasks.training.models._joint import JointModel

TRANSFORMER = "transformer"
IDENTITY = {"name", "model", "revision", "licence", "source"}
_TEXTS_AT_ONCE = 64


class Description(Record):
    """How a trained folder is read, and what it was trained by.

    Attributes:
        kind: ``transformer``, or the name of a model of `tasks.training.models`.
        reading: Fields of a transformer's specification.
        dimension: Length of a vector.
        recipe: How it was trained.
        recipe_hash: Digest of recipe, base and data: the same one gives the same weights.
        base: Name, model and revision of what was fine-tuned; empty for what began with nothing.
        data: Name of the data.
        data_fingerprint: Digest of training pairs and dev labels.
        licences: Licences of the base and of the data.
    """

    kind: str
    reading: dict[str, Any] = Field(default_factory=dict)
    dimension: int
    recipe: Recipe
    recipe_hash: str
    base: dict[str, str] = Field(default_factory=dict)
    data: str
    data_fingerprint: str
    licences: tuple[str, ...]


class JointSpec(EncoderSpec):
    """The specification of a model of `tasks.training.models`."""

    kind: str


def read_description(folder: Path) -> Description:
    """Return what a trained folder says of itself.

    Raises:
        EncoderError: The file cannot be read.
    """
    file = folder / TRAINED
    try:
        return Description.model_validate_json(file.read_text("utf-8"))
    except (OSError, ValueError, ValidationError) as error:
        raise EncoderError(f"{file} cannot be read: {error}") from None


def write_description(folder: Path, description: Description) -> None:
    """Write what a trained folder says of itself."""
    text = json.dumps(description.model_dump(mode="json"), indent=1, sort_keys=True)
    (folder / TRAINED).write_text(f"{text}\n", "utf-8")


def reading_of(folder: Path, identity: dict[str, str]) -> tuple[EncoderSpec, Any]:
    """Return the specification of a trained folder, and the class that computes it.

    Args:
        folder: With ``encoder.json``.
        identity: The specification's name, model, revision, licence and source.

    Raises:
        EncoderError: The file cannot be read.
    """
    told = read_description(folder)
    identity = {**identity, "source": f"{told.recipe.source}; {identity['source']}"}
    if identity["licence"] == "unknown":
        identity["licence"] = " AND ".join(told.licences) or "unknown"
    if told.kind == TRANSFORMER:
        return TransformerSpec(**told.reading, **identity), TransformerEncoder
    spec = JointSpec(
        kind=told.kind, dimension=told.dimension, similarity=told.recipe.similarity, **identity
    )
    return spec, JointEncoder


def embed(
    model: "JointModel",
    texts: Sequence[str],
    kind: Kind,
    similarity: Similarity,
    device: "str | torch.device" = "cpu",
) -> Vectors:
    """Return (n, dimension) vectors in the order of the texts, of unit length for a cosine."""
    import torch  # noqa: PLC0415 - heavy libraries load when used
    from torch.nn.functional import normalize  # noqa: PLC0415

    distinct = list(dict.fromkeys(texts))
    order = sorted(range(len(distinct)), key=lambda row: -len(distinct[row]))
    found: dict[str, Any] = {}
    with torch.inference_mode():
        for rows in batched(order, _TEXTS_AT_ONCE):
            some = [distinct[row] for row in rows]
            features = {name: each.to(device) for name, each in model.features(some, kind).items()}
            vectors = model(features, kind)
            if similarity == "cosine":
                vectors = normalize(vectors, dim=1)
            found |= zip(some, vectors.float().cpu().numpy(), strict=True)
    return np.array([found[text] for text in texts], np.float32)


class JointEncoder:
    """Embeds texts with a model of `tasks.training.models`.

    Args:
        checkpoint: The trained folder.
        spec: Its specification.

    Raises:
        EncoderError: A file lacks or is damaged.
    """

    def __init__(self, checkpoint: Path, spec: JointSpec) -> None:
        from tasks.training.models import models  # noqa: PLC0415 - loads torch

        self.spec = spec
        try:
            self._model = models.get(spec.kind).load(checkpoint).eval()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise EncoderError(
                f"cannot load encoder {spec.name!r} ({checkpoint}): {error}"
            ) from error

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:  # noqa: ARG002 - batches are small
        """Return (n, dimension) vectors in the order of ``texts``, of unit length for a cosine.

        Raises:
            EncoderError: A vector is zero or not finite.
        """
        vectors = embed(self._model, texts, kind, self.spec.similarity)
        wrong = of_wrong_length(vectors, self.spec.similarity)
        if len(wrong):
            raise EncoderError(
                f"encoder {self.spec.name!r} gives {len(wrong):,} texts a vector that is zero or "
                f"not finite, first {texts[wrong[0]][:80]!r}: its weights are damaged"
            )
        return vectors


def check_trainable(name: str, found: Any) -> TransformerSpec:  # noqa: ANN401 - a class of encoders
    """Return the specification of an encoder that can be fine-tuned.

    Raises:
        SettingsError: It is no transformer, or has parts that are not trained.
    """
    spec = found.spec
    if not isinstance(spec, TransformerSpec):
        problem = "it is no transformer whose weights are here"
    elif spec.query_adapter or spec.code_adapter or spec.projections or spec.truncated:
        problem = "adapters, dense layers after the pooling and cut vectors are not trained"
    else:
        return spec
    raise SettingsError(f"encoder {name} cannot be fine-tuned: {problem}")
