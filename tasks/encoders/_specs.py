"""Specifications of encoders, and the table of the published ones."""

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import NonNegativeInt, PositiveInt

from infra.identity import mark
from infra.records import Record

Kind = Literal["query", "code"]
Vectors = npt.NDArray[np.float32]
Similarity = Literal["cosine", "product"]
Precision = Literal["float32", "bfloat16"]
Pooling = Literal["mean", "first", "pooler", "last"]

NOT_PUBLISHED = "not published"  # the revision of an encoder whose checkpoint nobody offers
_UNKEYED = {"licence", "source", "architecture"}  # fields on which the vectors do not depend


class EncoderSpec(Record):
    """The identity of an encoder's vectors, and the terms under which the model comes.

    Attributes:
        name: The name in the registry.
        model: Where the checkpoint comes from: a hub's id or a package.
        revision: The pinned commit or version.
        licence: SPDX identifier.
        source: Paper and card that say how the model is to be used.
        dimension: Length of a vector; 0 where only the API knows it.
        similarity: ``cosine`` of vectors of unit length, or ``product`` of the model's own ones.
    """

    is_api: ClassVar[bool] = False

    name: str
    model: str
    revision: str
    licence: str
    source: str
    dimension: NonNegativeInt
    similarity: Similarity = "cosine"

    @property
    def key(self) -> str:
        """Identity of the vectors: another specification gives other vectors."""
        # Without defaults, so that a later field changes no key of what is stored.
        return mark(self.model_dump_json(exclude=_UNKEYED, exclude_defaults=True))


class TransformerSpec(EncoderSpec):
    """The specification of a transformer: how a text becomes tokens, and tokens a vector.

    Attributes:
        max_length: Tokens, special ones included; longer texts are cut.
        before, after: Special tokens before and after the text.
        pooling: ``mean`` over all tokens, the ``first`` or the ``last`` token, or the model's own
            ``pooler`` (a dense layer with tanh over the first token).
        query_prefix, code_prefix: Text before a query, before a code.
        query_length, code_length: Tokens, where they are fewer than ``max_length``.
        white_space: ``collapsed`` writes each run of white space as one blank; ``kept`` does not.
        special_tokens: ``stated`` in ``before`` and ``after``, or those of the ``tokenizer``.
        query_adapter, code_adapter: Folders in the checkpoint with LoRA adapters.
        precision: Of the computation, whatever the weights have.
        architecture: ``codet5p`` for what transformers knows by code of the checkpoint only.
    """

    max_length: PositiveInt
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    pooling: Pooling
    query_prefix: str = ""
    code_prefix: str = ""
    query_length: PositiveInt | None = None
    code_length: PositiveInt | None = None
    white_space: Literal["kept", "collapsed"] = "kept"
    special_tokens: Literal["stated", "tokenizer"] = "stated"
    query_adapter: str = ""
    code_adapter: str = ""
    precision: Precision = "float32"
    architecture: Literal["auto", "codet5p"] = "auto"


class ApiSpec(EncoderSpec):
    """The specification of an embedding API.

    Attributes:
        max_length: Tokens; longer texts are cut before they are sent.
        shortened: Whether the API is asked for vectors of ``dimension`` numbers.
    """

    is_api: ClassVar[bool] = True

    max_length: PositiveInt
    shortened: bool = False


class Encoder(Protocol):
    """A model that embeds texts."""

    @property
    def spec(self) -> EncoderSpec:
        """Its specification."""
        ...

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        """Return (n, dimension) vectors in the order of ``texts``, of unit length for a cosine.

        A vector does not depend on the other texts, but for rounding. Give thousands at once: those
        of similar length are computed together, at most ``batch_size``; 0 lets the encoder choose.
        """
        ...


class EncoderClass(Protocol):
    """A class of encoders, or a factory, with the specification of its instances."""

    @property
    def spec(self) -> EncoderSpec:
        """The specification, which needs no checkpoint."""
        ...

    def __call__(self) -> Encoder:
        """Return an encoder; an `EncoderError` says why its checkpoint cannot be loaded."""
        ...


@cache
def published_specs() -> dict[str, EncoderSpec]:
    """Return the specifications of ``specs.toml`` by name."""
    tables = tomllib.loads(Path(__file__).with_name("specs.toml").read_text("utf-8"))
    return {
        name: (ApiSpec if fields["revision"] == "api" else TransformerSpec)(name=name, **fields)
        for name, fields in tables.items()
    }


def not_published(name: str) -> str:
    """Return the message that an encoder has no published checkpoint, with the way to make one."""
    base = "codebert-base" if name == "codebert-search" else "roberta-base"
    return (
        f"encoder {name} has no published checkpoint: give --checkpoint {name}=FOLDER; to make "
        f"one: cosqa train --data python/final/jsonl --base {base} --recipe codexglue "
        f"--name my-{base}, then --checkpoint {name}=cosqa-benchmarks/encoders/my-{base}"
    )
