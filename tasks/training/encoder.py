"""The trained folder: an encoder with its recipe, base, data and licences in ``encoder.json``."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from infra.errors import EncoderError, SettingsError
from infra.records import Record, caseless
from tasks.encoders import (
    TRAINED,
    EncoderClass,
    EncoderSpec,
    Kind,
    TransformerSpec,
    Vectors,
    folder_readers,
    load_transformer,
)
from tasks.training.recipes import Recipe

TRANSFORMER = "transformer"
IDENTITY = {"name", "model", "revision", "licence", "source"}
_BATCH = 64
_QUERIES = "trained-on.txt"  # the queries of training


class Description(Record):
    """The description of a trained folder.

    Attributes:
        kind: ``transformer``, or the name of a model of `tasks.training.models`.
        reading: Fields of a transformer's specification.
        dimension: Length of a vector.
        recipe: The recipe.
        recipe_hash: Digest of recipe, base and data: the same one gives the same weights.
        base: Name, model and revision of the fine-tuned encoder; empty for a model from nothing.
        data: Name of the data.
        data_fingerprint: Digest of training pairs and dev queries.
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


def write_queries(folder: Path, texts: Iterable[str]) -> None:
    """Write the queries of training into a trained folder, each a line as `caseless`."""
    (folder / _QUERIES).write_text("\n".join(sorted(set(map(caseless, texts)))), "utf-8")


def queries_trained_on(encoder: EncoderClass) -> set[str]:
    """Return the queries, as `caseless`, on which `cosqa train` trained an encoder."""
    folder: Path | None = getattr(encoder, "folder", None)
    if folder is None or not (folder / _QUERIES).is_file():
        return set()
    return {*(folder / _QUERIES).read_text("utf-8", errors="replace").split("\n")} - {""}


def base_of(encoder: EncoderClass) -> str:
    """Return the name of an encoder's model, of a fine-tuned one its base's."""
    folder: Path | None = getattr(encoder, "folder", None)
    if folder is None or not (folder / TRAINED).is_file():
        return encoder.spec.model
    return read_description(folder).base.get("model") or encoder.spec.model


class JointSpec(EncoderSpec):
    """The specification of a model of `tasks.training.models`."""

    kind: str


def read_description(folder: Path) -> Description:
    """Return the description of a trained folder."""
    file = folder / TRAINED
    try:
        return Description.model_validate_json(file.read_text("utf-8"))
    except (OSError, ValueError, ValidationError) as error:
        raise EncoderError(f"{file} cannot be read: {error}") from None


def write_description(folder: Path, description: Description) -> None:
    """Write the description into a trained folder."""
    text = json.dumps(description.model_dump(mode="json"), indent=1, sort_keys=True)
    (folder / TRAINED).write_text(f"{text}\n", "utf-8")


def reading_of(folder: Path, identity: dict[str, str]) -> tuple[EncoderSpec, Any]:
    """Return the specification of a trained folder, and the class that computes it.

    Args:
        folder: With ``encoder.json``.
        identity: The specification's name, model, revision, licence and source.
    """
    description = read_description(folder)
    identity = {**identity, "source": f"{description.recipe.source}; {identity['source']}"}
    identity["licence"] = " AND ".join(description.licences) or "unknown"
    if description.kind == TRANSFORMER:
        # Folders of earlier releases also name fields that are withdrawn, with empty values.
        reading = {name: value for name, value in description.reading.items() if value}
        return TransformerSpec(**reading, **identity), load_transformer
    spec = JointSpec(
        kind=description.kind,
        dimension=description.dimension,
        similarity=description.recipe.similarity,
        **identity,
    )
    return spec, JointEncoder


folder_readers[TRAINED] = reading_of


class JointEncoder:
    """Embeds texts with a model of `tasks.training.models`.

    Args:
        checkpoint: The trained folder.
        spec: Its specification.
    """

    def __init__(self, checkpoint: Path, spec: JointSpec) -> None:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - heavy

        from tasks.training._tower import Tower  # noqa: PLC0415
        from tasks.training.models import models  # noqa: PLC0415

        self.spec = spec
        kind = models.get(spec.kind)
        try:
            model = kind.load(checkpoint)
        except Exception as error:  # tokenizers raises no narrower one
            raise EncoderError(
                f"cannot load encoder {spec.name!r} ({checkpoint}): {error}"
            ) from error
        self._model = SentenceTransformer(modules=[Tower(model)])

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:  # noqa: ARG002 - batches are small
        """Return (n, dimension) vectors in the order of ``texts``, of unit length for a cosine."""
        encode = self._model.encode_query if kind == "query" else self._model.encode_document
        vectors: Vectors = encode(
            list(texts),
            batch_size=_BATCH,
            normalize_embeddings=self.spec.similarity == "cosine",
            show_progress_bar=False,
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
    elif spec.query_adapter or spec.code_adapter:
        problem = "adapters are not trained"
    else:
        return spec
    raise SettingsError(f"encoder {name} cannot be fine-tuned: {problem}")
