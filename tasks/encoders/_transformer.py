"""The base of encoders over Hugging Face checkpoints."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from infra.errors import EncoderError
from tasks.encoders import Encoder, EncoderSpec, Kind, Vectors, of_wrong_length
from tasks.encoders._tokens import TextTokenizer
from tasks.encoders._weights import (
    check_counts,
    load_adapters,
    load_model,
    load_projections,
)

if TYPE_CHECKING:
    import torch

_ENCODERS_ALONE = ("t5", "mt5", "umt5")  # models whose decoder says nothing of the text
_TOKENS_ON_CPU, _TOKENS_ON_GPU = 1024, 32768  # of a batch: what caches, or a small GPU, hold

Pooling = Literal["mean", "first", "pooler", "last"]


class TransformerSpec(EncoderSpec):
    """The specification of a transformer: how a text becomes tokens, and tokens a vector.

    Attributes:
        max_length: Tokens, special ones included; longer texts are cut.
        before: Special tokens before the text.
        after: Special tokens after the text.
        pooling: ``mean`` over all tokens, the ``first`` or the ``last`` token, or the model's own
            ``pooler`` (a dense layer with tanh over the first token).
        query_prefix: What is written before a query.
        code_prefix: What is written before a code.
        query_length: Tokens of a query, where they are fewer than ``max_length``.
        code_length: Likewise of a code.
        white_space: ``collapsed`` writes each run of white space as one blank; ``kept`` does not.
        special_tokens: ``stated`` in ``before`` and ``after``, or those of the ``tokenizer``.
        lower_case: Whether texts are lower-cased.
        query_adapter: Folder in the checkpoint with the LoRA adapter for queries.
        code_adapter: Likewise for codes.
        projections: Folders in the checkpoint with dense layers after the pooling.
        truncated: Whether a vector is the first ``dimension`` numbers of a longer one (Kusupati et
            al. 2022, Matryoshka representation learning).
    """

    max_length: int
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    pooling: Pooling
    query_prefix: str = ""
    code_prefix: str = ""
    query_length: int | None = None
    code_length: int | None = None
    white_space: Literal["kept", "collapsed"] = "kept"
    special_tokens: Literal["stated", "tokenizer"] = "stated"
    lower_case: bool = False
    query_adapter: str = ""
    code_adapter: str = ""
    projections: tuple[str, ...] = ()
    truncated: bool = False

    later_fields: ClassVar[frozenset[str]] = EncoderSpec.later_fields.union(
        {
            "query_prefix", "code_prefix", "query_length", "code_length", "white_space",
            "special_tokens", "lower_case", "query_adapter", "code_adapter", "projections",
            "truncated",
        }
    )  # fmt: skip

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


class TransformerEncoder:
    """Embeds texts with a transformer, as its specification says.

    Equal texts are embedded once, in batches of similar length that are cut by tokens, so that
    little is padded. A GPU is used where there is one. No Python code of a checkpoint is run, and
    weights in a pickle are read without running it.

    Args:
        checkpoint: Folder of a checkpoint; by default the pinned one is loaded from the hub's cache
            or fetched from the hub.
        spec: Another specification than that of the class.

    Raises:
        EncoderError: The checkpoint cannot be loaded.
    """

    spec: TransformerSpec

    def __init__(self, checkpoint: Path | None = None, spec: TransformerSpec | None = None) -> None:
        import torch  # noqa: PLC0415 - heavy libraries load when used
        from transformers import AutoTokenizer  # noqa: PLC0415

        self.spec = spec or self.spec
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        on_gpu = self._device.type == "cuda"
        # A GPU waits for its tokens; on a processor the actors take all cores.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", str(on_gpu).lower())
        self._most_tokens = _TOKENS_ON_GPU if on_gpu else _TOKENS_ON_CPU
        source = self._source(checkpoint)
        # What libraries raise for damaged files is of many kinds, and all of it means this.
        try:
            check_counts(source)
            tokenizer = AutoTokenizer.from_pretrained(**source)
            self._model = self._load_model(source)
            adapters = {self.spec.query_adapter, self.spec.code_adapter} - {""}
            load_adapters(self._model, source, sorted(adapters))
            self._projections = load_projections(source, self.spec.projections)
        except EncoderError:
            raise
        except Exception as error:
            raise EncoderError(self._cannot_load(checkpoint, error)) from error
        self._tokenizer = TextTokenizer(tokenizer, self.spec)
        self._model.to(self._device).eval()
        self._projections.to(self._device).eval()

    @property
    def model(self) -> Any:  # noqa: ANN401 - a torch module
        """The transformer, a module of torch."""
        return self._model

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        """Return (n, dimension) vectors in the order of ``texts``, of unit length for a cosine.

        Args:
            texts: Best thousands at once.
            kind: Whether they are queries or codes.
            batch_size: The most texts in one forward pass; 0 for no limit but that of tokens.

        Raises:
            EncoderError: A vector is zero or not finite, or has another length than stated.
        """
        import torch  # noqa: PLC0415

        if adapter := self.spec.adapter_of(kind):
            self._model.set_adapter(adapter)
        distinct = list(dict.fromkeys(texts))
        vectors = np.empty((len(distinct), self.spec.dimension), np.float32)
        batches = self._tokenizer.batches(distinct, kind, batch_size, self._most_tokens)
        with torch.inference_mode():
            for rows, token_ids in batches:
                vectors[rows] = self._embed(token_ids).cpu().numpy()
        self._check(vectors, distinct)
        row_of = {text: row for row, text in enumerate(distinct)}
        return vectors[[row_of[text] for text in texts]]

    def features(self, texts: Sequence[str], kind: Kind) -> "dict[str, torch.Tensor]":
        """Return token ids and attention mask of texts, padded to one length, on the CPU."""
        return self._padded(self._tokenizer.tokenise(texts, kind))

    def forward(self, features: "Mapping[str, torch.Tensor]") -> "torch.Tensor":
        """Return (texts, dimension) vectors, as they are, not of unit length.

        Raises:
            EncoderError: They have another length than stated.
        """
        mask = features["attention_mask"]
        output = self._model(input_ids=features["input_ids"], attention_mask=mask)
        pooled: torch.Tensor = self._projections(self._pool(output, mask))
        if self.spec.truncated:
            pooled = pooled[:, : self.spec.dimension]
        if pooled.shape[1] != self.spec.dimension:
            raise EncoderError(
                f"encoder {self.spec.name!r} gives vectors of {pooled.shape[1]} dimensions, its "
                f"specification says {self.spec.dimension}: the checkpoint is of another model"
            )
        return pooled

    def save(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer into a folder."""
        self._model.save_pretrained(folder)
        self._tokenizer.save(folder)

    def _own_folder(self) -> Path | None:
        """Return the folder of the class's own checkpoint, None where the hub has it.

        Raises:
            EncoderError: There is none.
        """
        return None

    def _source(self, checkpoint: Path | None) -> dict[str, Any]:
        own = getattr(type(self), "spec", self.spec)
        if checkpoint is None and own.model == self.spec.model:  # not one of the hub like it
            checkpoint = self._own_folder()
        if checkpoint is not None:
            return {"pretrained_model_name_or_path": str(checkpoint), "trust_remote_code": False}
        return {
            "pretrained_model_name_or_path": self.spec.model,
            "revision": self.spec.revision,
            "trust_remote_code": False,
        }

    def _load_model(self, source: dict[str, Any]) -> Any:  # noqa: ANN401 - a torch module
        from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding  # noqa: PLC0415

        kind = AutoConfig.from_pretrained(**source).model_type
        factory = AutoModelForTextEncoding if kind in _ENCODERS_ALONE else AutoModel
        return load_model(factory, source, needs_pooler=self.spec.pooling == "pooler")

    def _cannot_load(self, checkpoint: Path | None, error: Exception) -> str:
        origin = f"{self.spec.model} at revision {self.spec.revision}"
        own: TransformerSpec | None = getattr(type(self), "spec", None)
        folder = "checkpoint:NAME=FOLDER, with the reference's options behind it"
        if own and own.revision == self.spec.revision:
            folder = f"--checkpoint {own.name}=FOLDER"
        way_out = (
            "Without a network, put the checkpoint into the hub's cache first (HF_HOME says where "
            f"it is), or name a folder that has it: {folder}"
        )
        if checkpoint is not None:
            origin = f"the folder {checkpoint}"
            needed = "A checkpoint has config.json, the tokenizer and weights."
            way_out = needed if self.spec.source == str(checkpoint) else f"{needed} {way_out}"
        return f"cannot load encoder {self.spec.name!r} ({origin}): {error}\n{way_out}"

    def _embed(self, token_ids: Sequence[Sequence[int]]) -> "torch.Tensor":
        """Return (batch, dimension) vectors of one batch."""
        from torch.nn.functional import normalize  # noqa: PLC0415

        padded = self._padded(token_ids)
        vectors = self.forward({name: rows.to(self._device) for name, rows in padded.items()})
        return normalize(vectors, dim=1) if self.spec.similarity == "cosine" else vectors

    def _padded(self, token_ids: Sequence[Sequence[int]]) -> "dict[str, torch.Tensor]":
        import torch  # noqa: PLC0415
        from torch.nn.utils.rnn import pad_sequence  # noqa: PLC0415

        lengths = torch.tensor([len(ids) for ids in token_ids])
        padded = pad_sequence(
            [torch.tensor(ids) for ids in token_ids],
            batch_first=True,
            padding_value=self._tokenizer.padding,
        )
        mask = (torch.arange(padded.shape[1]) < lengths[:, None]).long()
        return {"input_ids": padded, "attention_mask": mask}

    def _check(self, vectors: Vectors, texts: Sequence[str]) -> None:
        wrong = of_wrong_length(vectors, self.spec.similarity)
        if len(wrong):
            text = texts[wrong[0]]
            raise EncoderError(
                f"encoder {self.spec.name!r} gives {len(wrong):,} of {len(texts):,} texts a "
                f"vector that is zero or not finite, first {text[:80]!r}: its weights are damaged"
            )

    def _pool(self, output: Any, mask: "torch.Tensor") -> "torch.Tensor":  # noqa: ANN401 - of transformers
        """Return (batch, width) vectors from a model's output.

        Raises:
            EncoderError: The pooler's are asked for, and there is none.
        """
        import torch  # noqa: PLC0415

        hidden: torch.Tensor = output.last_hidden_state
        if self.spec.pooling == "pooler":
            pooled: torch.Tensor | None = getattr(output, "pooler_output", None)
            if pooled is None:
                raise EncoderError(
                    f"encoder {self.spec.name!r} has no pooler, by which a vector is to be had: "
                    "take another pooling, in training another recipe"
                )
            return pooled
        if self.spec.pooling == "first":
            return hidden[:, 0]
        if self.spec.pooling == "last":
            return hidden[torch.arange(len(hidden)), mask.sum(dim=1) - 1]
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


@dataclass(frozen=True)
class SpecifiedEncoder:
    """A class of encoders with another specification than its own.

    Attributes:
        spec: The specification.
        kind: The class that computes the vectors.
    """

    spec: TransformerSpec
    kind: type[TransformerEncoder]

    def __call__(self, checkpoint: Path | None = None) -> Encoder:
        """Return the encoder.

        Raises:
            EncoderError: The checkpoint cannot be loaded.
        """
        return self.kind(checkpoint, self.spec)
