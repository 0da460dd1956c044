"""Specifications of encoders, and the table of the published ones."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import NonNegativeInt, PositiveInt, ValidationError

from infra.errors import EncoderError, SettingsError
from infra.identity import mark
from infra.records import Record

Kind = Literal["query", "code"]
Vectors = npt.NDArray[np.float32]
Similarity = Literal["cosine", "product"]
Precision = Literal["float32", "bfloat16"]
Pooling = Literal["mean", "first", "pooler", "last"]

NOT_PUBLISHED = "not published"  # the revision of an encoder whose checkpoint nobody offers


class EncoderSpec(Record):
    """The identity of an encoder's vectors, and the terms under which the model comes.

    Attributes:
        name: The name in the registry.
        model: Where the checkpoint comes from: a hub's id or a package.
        revision: The pinned commit or version.
        licence: SPDX identifier.
        source: Paper and card that say how the model is to be used.
        dimension: Length of a vector; 0 where only the API knows it.
        similarity: How a query and a code are compared: ``cosine`` of vectors of unit length,
            or ``product``, the inner product of vectors as the model gives them.
    """

    name: str
    model: str
    revision: str
    licence: str
    source: str
    dimension: NonNegativeInt
    similarity: Similarity = "cosine"

    is_api: ClassVar[bool] = False
    unkeyed: ClassVar[frozenset[str]] = frozenset({"licence", "source"})

    @property
    def key(self) -> str:
        """Identity of the vectors: another specification gives other vectors."""
        # Without defaults, so that a later field changes no key of what is stored.
        return mark(self.model_dump_json(exclude=set(self.unkeyed), exclude_defaults=True))


class TransformerSpec(EncoderSpec):
    """The specification of a transformer: how a text becomes tokens, and tokens a vector.

    Attributes:
        max_length: Tokens, special ones included; longer texts are cut.
        before: Special tokens before the text.
        after: Special tokens after the text.
        pooling: ``mean`` over all tokens, the ``first`` or the ``last`` token, or the model's own
            ``pooler`` (a dense layer with tanh over the first token).
        query_prefix: Text before a query.
        code_prefix: Text before a code.
        query_length: Tokens of a query, where they are fewer than ``max_length``.
        code_length: Likewise of a code.
        white_space: ``collapsed`` writes each run of white space as one blank; ``kept`` does not.
        special_tokens: ``stated`` in ``before`` and ``after``, or those of the ``tokenizer``.
        lower_case: Whether texts are lower-cased.
        query_adapter: Folder in the checkpoint with the LoRA adapter for queries.
        code_adapter: Likewise for codes.
        projections: Folders in the checkpoint with dense layers after the pooling.
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
    lower_case: bool = False
    query_adapter: str = ""
    code_adapter: str = ""
    projections: tuple[str, ...] = ()
    precision: Precision = "float32"
    architecture: Literal["auto", "codet5p"] = "auto"

    unkeyed: ClassVar[frozenset[str]] = EncoderSpec.unkeyed | {"architecture"}

    def length_of(self, kind: Kind) -> int:
        """Return the maximum number of tokens of a query or a code."""
        return (self.query_length if kind == "query" else self.code_length) or self.max_length

    def text_of(self, text: str, kind: Kind) -> str:
        """Return a text as it is given to the tokenizer."""
        if self.white_space == "collapsed":
            text = " ".join(text.split())
        prefixed = (self.query_prefix if kind == "query" else self.code_prefix) + text
        return prefixed.lower() if self.lower_case else prefixed

    def adapter_of(self, kind: Kind) -> str:
        """Return the adapter for queries or codes, "" for none."""
        return self.query_adapter if kind == "query" else self.code_adapter


class ApiSpec(EncoderSpec):
    """The specification of an embedding API.

    Attributes:
        max_length: Tokens; longer texts are cut before they are sent.
        shortened: Whether the API is asked for vectors of ``dimension`` numbers.
    """

    is_api: ClassVar[bool] = True

    max_length: PositiveInt
    shortened: bool = False


Spec = TypeVar("Spec", bound=EncoderSpec)


class Encoder(Protocol):
    """A model that embeds texts."""

    @property
    def spec(self) -> EncoderSpec:
        """Its specification."""
        ...

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        """Return (n, dimension) vectors in the order of ``texts``, of unit length for a cosine.

        A vector does not depend on the other texts, but for rounding.

        Args:
            texts: Best thousands at once, so that texts of similar length are computed together.
            kind: Whether they are queries or codes.
            batch_size: The most texts in one forward pass; 0 lets the encoder choose.
        """
        ...


class EncoderClass(Protocol):
    """A class of encoders, or a factory, with the specification of its instances."""

    @property
    def spec(self) -> EncoderSpec:
        """The specification, which needs no checkpoint."""
        ...

    def __call__(self, checkpoint: Path | None = None) -> Encoder:
        """Return an encoder with the pinned checkpoint, or one like it from a folder."""
        ...


def load_transformer(checkpoint: Path | None, spec: EncoderSpec) -> Encoder:
    """Return the encoder of a transformer's specification."""
    if not isinstance(spec, TransformerSpec):
        raise EncoderError(f"encoder {spec.name!r} is an API: it has no checkpoint to load")
    from tasks.encoders._transformer import TransformerEncoder  # noqa: PLC0415 - imports torch

    return TransformerEncoder(checkpoint, spec)


@dataclass(frozen=True)
class SpecifiedEncoder:
    """A class of encoders with one specification.

    Attributes:
        spec: The specification.
        load: Returns the encoder, given a folder (None for the pinned checkpoint) and the spec.
    """

    spec: EncoderSpec
    load: Callable[[Path | None, Any], Encoder] = load_transformer

    def __call__(self, checkpoint: Path | None = None) -> Encoder:
        """Return the encoder; an `EncoderError` says why its checkpoint cannot be loaded."""
        return self.load(checkpoint, self.spec)


def validated(
    kind: type[Spec],
    identity: Mapping[str, Any],
    usual: Mapping[str, Any],
    options: Mapping[str, str],
    known: Sequence[str],
) -> Spec:
    """Return the specification of a reference.

    Args:
        kind: The class of the specification.
        identity: Fields that no option changes.
        usual: Fields that hold without an option.
        options: The options of the reference by field, as text.
        known: The fields that options may set.
    """
    prefix = f"encoder {identity['name']}"
    if unknown := sorted(options.keys() - set(known)):
        raise SettingsError(f"{prefix}: no option {unknown[0]!r}; there are {', '.join(known)}")
    try:
        return kind.model_validate({**usual, **options, **identity}, strict=False)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"]))
        stated = f" (as {identity['source']} states it: ?{field}=… replaces that)"
        raise SettingsError(
            f"{prefix}: {field} = {problem['input']!r}: {problem['msg']}"
            + ("" if field in options else stated)
        ) from None


@cache
def published_specs() -> dict[str, EncoderSpec]:
    """Return the specifications of ``specs.toml`` by name."""
    tables = tomllib.loads(Path(__file__).with_name("specs.toml").read_text("utf-8"))
    return {
        name: (ApiSpec if fields["revision"] == "api" else TransformerSpec).model_validate(
            {"name": name, **fields}, strict=False
        )
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
