"""Laws of encoders by reference: folders, the hub's models, names and options.

Covers `tasks.encoders._reference` and `tasks.encoders._sentence_transformers`.
"""

import json
import pickle
import shutil
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

from infra.errors import CosqaError, EncoderError, SettingsError, UnknownNameError
from tasks.encoders import TransformerSpec, encoders, load_transformer
from tasks.encoders._sentence_transformers import max_length
from tests.fakes.checkpoints import make_checkpoint

DENSE, OUTSIDE = (
    json.dumps([{"type": "models.Transformer", "path": ""}, *rest])
    for rest in (
        [{"type": "Pooling", "path": "1_Pooling"}, {"type": "Dense", "path": "2_Dense"}],
        [{"type": "Pooling", "path": "../elsewhere"}],
    )
)
TEXTS = ["read a json file", "def add(a, b):\n    return a  +  b\n" * 40, "x"]


def spec_of(reference: str) -> TransformerSpec:
    spec = encoders.get(reference).spec
    assert isinstance(spec, TransformerSpec)
    return spec


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small RoBERTa."""
    return make_checkpoint("roberta-base", tmp_path / "my-model", 32)


def saved_by_sentence_transformers(base: Path, to: Path, pooling: str, **options: Any) -> Any:
    """Save a model as sentence-transformers does; return it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own imports
        library = import_module("sentence_transformers")
        models = import_module("sentence_transformers.models")
        modules = [
            models.Transformer(str(base), max_seq_length=60),
            models.Pooling(32, pooling),
            models.Normalize(),
        ]
        model = library.SentenceTransformer(modules=modules, device="cpu", **options)
        model.save(str(to))
        return model


@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
def test_a_folder_of_sentence_transformers_gives_its_vectors(
    folder: Path, tmp_path: Path, pooling: str
) -> None:
    prompts = {"query": "find: ", "document": "code: "}
    theirs = saved_by_sentence_transformers(folder, tmp_path / "st", pooling, prompts=prompts)
    encoder = encoders.get(f"checkpoint:{tmp_path / 'st'}")()
    for kind, prompt in (("query", "query"), ("code", "document")):
        ours = encoder.encode(TEXTS, kind, 2)  # type: ignore[arg-type]
        expected = theirs.encode(TEXTS, prompt_name=prompt)
        assert ours.shape == (3, 32)
        assert (ours * expected).sum(axis=1).min() >= 0.9999


@pytest.mark.parametrize(("stated", "most"), [(514, 513), (None, 513), (60, 60)])  # padding is 0
def test_a_roberta_takes_as_many_tokens_as_it_has_positions_behind_that_of_padding(
    folder: Path, tmp_path: Path, stated: int | None, most: int
) -> None:
    saved_by_sentence_transformers(folder, tmp_path / "st", "mean")
    for name, key, value in (
        ("sentence_bert_config.json", "max_seq_length", stated),
        ("tokenizer_config.json", "model_max_length", int(1e30)),
    ):
        file = tmp_path / "st" / name
        file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | {key: value}))
    reference = f"checkpoint:{tmp_path / 'st'}"
    assert spec_of(reference).max_length == most
    assert encoders.get(reference)().encode([TEXTS[1] * 20], "code", 0).shape == (1, 32)


@pytest.mark.parametrize(
    ("config", "tokenizer", "most"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512}, None, 512),
        ({"model_type": "bert", "max_position_embeddings": 40}, {"model_max_length": 64}, 40),
        ({"model_type": "roberta", "max_position_embeddings": 514}, None, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 0}, {}, 513),
        ({"model_type": "xmod", "max_position_embeddings": 70, "pad_token_id": 5}, {}, 64),
        ({"model_type": "t5"}, None, 512),
        ({"model_type": "t5"}, {"model_max_length": int(1e30)}, 512),
        ({"model_type": "mt5"}, {"model_max_length": 128}, 128),
    ],
)
def test_a_folder_without_limits_takes_what_its_positions_allow_or_512_tokens(
    tmp_path: Path, config: dict[str, object], tokenizer: dict[str, object] | None, most: int
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"d_model": 8, **config}))
    if tokenizer is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    assert max_length(tmp_path) == most
    assert spec_of(f"checkpoint:a={tmp_path}?pooling=mean").max_length == min(most, 512)


@pytest.mark.parametrize("kind", ["T5EncoderModel", "T5ForConditionalGeneration", "MT5Model"])
def test_a_t5_is_embedded_by_its_encoder(tmp_path: Path, kind: str) -> None:
    words = {word: number for number, word in enumerate(("[PAD]", "[UNK]", "</s>", "sort", "x"))}
    inner = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=inner, unk_token="[UNK]", pad_token="[PAD]", eos_token="</s>"
    )
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": 5, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2
    }  # fmt: skip
    config = transformers.MT5Config if kind.startswith("M") else transformers.T5Config
    getattr(transformers, kind)(config(**sizes)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    ours = encoders.get(f"checkpoint:t5={tmp_path}?pooling=mean")().encode(TEXTS, "code", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own imports
        library = import_module("sentence_transformers")
    theirs = library.SentenceTransformer(str(tmp_path), device="cpu")
    assert np.allclose(ours, theirs.encode(TEXTS, normalize_embeddings=True), atol=1e-5)


def test_options_say_how_a_plain_folder_is_read(folder: Path) -> None:
    reference = (
        f"checkpoint:mine={folder}?pooling=pooler&query_length=12&code_length=20&"
        "white_space=collapsed&query_prefix=find:%20"
    )
    found = encoders.get(reference)
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("find: " + " ".join(TEXTS[1].split()), truncation=True, max_length=12)
    with torch.inference_mode():
        pooled = model(torch.tensor([ids["input_ids"]])).pooler_output[0].numpy()
    vector = found().encode([TEXTS[1]], "query", 1)[0]
    assert np.allclose(vector, pooled / np.linalg.norm(pooled), atol=1e-5)
    assert found.spec.name == "mine"


def test_a_fine_tuned_encoder_is_read_like_the_registered_one(folder: Path, tmp_path: Path) -> None:
    spec = spec_of(f"checkpoint:codebert={folder}?like=codebert-search&dimension=32")
    assert (spec.pooling, spec.query_length, spec.max_length) == ("pooler", 128, 256)
    assert (spec.before, spec.white_space, spec.licence) == (("<s>",), "collapsed", "unknown")
    tuned = make_checkpoint("codet5p", tmp_path / "t5", 256)
    vectors = encoders.get(f"checkpoint:{tuned}?like=codet5p")().encode(TEXTS, "code", 3)
    assert np.allclose(
        vectors, load_transformer(tuned, encoders.get("codet5p").spec).encode(TEXTS, "code", 3)
    )


def test_a_fine_tuned_encoder_is_read_like_one_that_a_folder_stands_in_for(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: encoders.substitute({}))
    first, other = (make_checkpoint("codet5p", tmp_path / name, 256) for name in ("a", "b"))
    reference = f"checkpoint:other={other}?like=codet5p"
    key = spec_of(reference).key
    encoders.substitute({"codet5p": first})
    assert spec_of(reference).key == key
    vectors = encoders.get(reference)().encode(TEXTS, "code", 3)
    assert np.allclose(
        vectors, load_transformer(other, encoders.get("codet5p").spec).encode(TEXTS, "code", 3)
    )


def test_the_key_follows_the_content_and_not_the_place(folder: Path, tmp_path: Path) -> None:
    options = "?pooling=mean"
    key = spec_of(f"checkpoint:a={folder}{options}").key
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    assert spec_of(f"checkpoint:a={moved}{options}").key == key
    (moved / "README.md").write_text("words")
    assert spec_of(f"checkpoint:a={moved}{options}").key == key
    assert spec_of(f"checkpoint:a={moved}?pooling=first").key != key
    model = AutoModel.from_pretrained(moved)
    with torch.no_grad():
        model.pooler.dense.bias += 1
    model.save_pretrained(moved)
    assert spec_of(f"checkpoint:a={moved}{options}").key != key


def test_a_folder_that_changes_or_vanishes_during_a_run_is_refused(folder: Path) -> None:
    found = pickle.loads(pickle.dumps(encoders.get(f"checkpoint:{folder}?pooling=mean")))
    assert found().encode(["x"], "code", 1).shape == (1, 32)
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    with pytest.raises(EncoderError, match=r"not the checkpoint that this run started with"):
        found()
    shutil.rmtree(folder)
    with pytest.raises(EncoderError, match=r"does not exist on .*every node of a cluster"):
        found()


@pytest.mark.parametrize(
    ("reference", "error", "told"),
    [
        ("checkpoint:{folder}", SettingsError, r"no modules.json.*\?pooling=mean"),
        ("checkpoint:{folder}?pooling=max", SettingsError, "pooling = 'max'"),
        (
            "checkpoint:{folder}?pooling=mean&pool=1",
            SettingsError,
            "no option 'pool'; there are dimension, ",
        ),
        ("checkpoint:{folder}?pooling", SettingsError, "pooling = ''"),
        ("checkpoint:{folder}?pooling=mean&pooling=first", SettingsError, "given twice"),
        ("checkpoint:{folder}?pooling=mean&max_length=many", SettingsError, "max_length = 'many'"),
        ("checkpoint:{folder}?pooling=mean&revision=1", SettingsError, "no option 'revision'"),
        ("checkpoint:{folder}?like=text-embedding-3-large", UnknownNameError, "transformer 'text"),
        ("checkpoint:{folder}?like=nobody", UnknownNameError, "unknown transformer 'nobody'"),
        ("checkpoint:MiniLM={folder}?pooling=mean", SettingsError, "of a registered encoder"),
        ("checkpoint:../x={folder}?pooling=mean", SettingsError, "none for files and columns"),
        ("checkpoint:{folder}/nowhere", EncoderError, "does not exist"),
        ("checkpoint:", UnknownNameError, "checkpoint:NAME=FOLDER"),
        ("folder:{folder}", UnknownNameError, "unknown encoder 'folder:.*checkpoint:NAME=FOLDER"),
        ("api:openai/x?dimension=-1", SettingsError, "dimension = "),
    ],
)
def test_a_wrong_reference_is_an_error_that_says_what_is_right(
    folder: Path, reference: str, error: type[CosqaError], told: str
) -> None:
    with pytest.raises(error, match=told):
        encoders.get(reference.format(folder=folder))


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("modules.json", "{", "cannot be read"),
        ("modules.json", '[{"type": "models.CLIPModel", "path": ""}]', "CLIPModel"),
        ("modules.json", DENSE, "Transformer, Pooling, Dense"),
        ("modules.json", OUTSIDE, "is outside of the folder"),
        ("1_Pooling/config.json", '{"pooling_mode": "max", "embedding_dimension": 32}', "max"),
        ("1_Pooling/config.json", '{"pooling_mode": "mean", "include_prompt": false}', "prompt"),
        ("sentence_bert_config.json", '{"do_lower_case": true}', "do_lower_case"),
        ("adapter_config.json", "{}", "holds an adapter"),
        ("modules.json", "[3]", "another shape"),
        ("config_sentence_transformers.json", '{"prompts": [1]}', "another shape"),
        ("1_Pooling/config.json", '{"pooling_mode": [{}]}', "another shape"),
        ("config.json", "[]", "another shape"),
        ("config.json", '{"model_type": "x", "auto_map": {"AutoModel": "evil.Model"}}', "load"),
    ],
)
def test_a_folder_that_cannot_be_computed_is_refused(
    folder: Path, tmp_path: Path, file: str, content: str, told: str
) -> None:
    saved_by_sentence_transformers(folder, tmp_path / "st", "mean")
    (tmp_path / "st" / file).write_text(content)
    (tmp_path / "st" / "evil.py").write_text("raise SystemExit('ran')")
    with pytest.raises(EncoderError, match=told):
        encoders.get(f"checkpoint:{tmp_path / 'st'}")()


@pytest.mark.parametrize("is_of_codexglue", [False, True])
def test_a_checkpoint_like_codexglue_is_read_by_its_pooler_and_its_products(
    tmp_path: Path, is_of_codexglue: bool
) -> None:
    folder = make_checkpoint("codexglue", tmp_path / "checkpoint-best-mrr", 32)
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    if is_of_codexglue:  # what it trained lies beside the base's weights
        model = AutoModel.from_config(model.config)  # type: ignore[no-untyped-call]
        weights = {f"encoder.{name}": rows for name, rows in model.state_dict().items()}
        torch.save(weights, folder / "model.bin")
    reference = f"checkpoint:kape={folder}?like=codexglue&dimension=32"
    kape = encoders.get(reference)
    tokens = tokenizer.tokenize(" ".join(TEXTS[1].split()))[:254]
    ids = tokenizer.convert_tokens_to_ids(["<s>", *tokens, "</s>"])
    with torch.inference_mode():
        pooled = model.eval()(torch.tensor([ids])).pooler_output.numpy()
    for kind in ("query", "code"):
        found = kape().encode([TEXTS[1]], kind, 1)
        assert np.allclose(found, pooled, atol=1e-5)
    assert kape.spec.key != spec_of(f"{reference}&similarity=cosine").key


def test_an_adopted_reference_is_found_by_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "_entries", dict(encoders._entries))  # nothing of it stays
    reference = f"checkpoint:adopted-one={folder}?pooling=mean"
    assert encoders.adopt(reference) == "adopted-one"
    assert encoders.get("adopted-one").spec.key == spec_of(reference).key
    assert encoders.adopt("minilm") == "minilm"
    assert "adopted-one" not in encoders.registered()


@pytest.mark.parametrize(
    ("stated", "option", "similarity"),
    [
        (None, "", "cosine"),
        ("cosine", "", "cosine"),
        ("dot", "", "product"),
        ("dot_product", "", "product"),
        ("dot", "similarity=cosine", "cosine"),
        ("euclidean", "similarity=product", "product"),
    ],
)
def test_a_checkpoints_own_similarity_is_taken_unless_another_is_asked_for(
    folder: Path, stated: str | None, option: str, similarity: str
) -> None:
    config = {"similarity_fn_name": stated}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    assert spec_of(f"checkpoint:{folder}?pooling=mean&{option}").similarity == similarity


def test_a_stated_product_of_vectors_of_unit_length_is_their_cosine(
    folder: Path, tmp_path: Path
) -> None:
    saved_by_sentence_transformers(folder, tmp_path / "st", "mean", similarity_fn_name="dot")
    assert spec_of(f"checkpoint:{tmp_path / 'st'}").similarity == "cosine"
    file = tmp_path / "st" / "modules.json"
    modules = [one for one in json.loads(file.read_text()) if "Normalize" not in one["type"]]
    file.write_text(json.dumps(modules))
    assert spec_of(f"checkpoint:{tmp_path / 'st'}").similarity == "product"


@pytest.mark.parametrize("stated", ["euclidean", "manhattan", "x", 3, ["dot"]])
def test_a_similarity_that_cannot_be_computed_is_refused_with_the_way_out(
    folder: Path, stated: object
) -> None:
    config = {"similarity_fn_name": stated}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    with pytest.raises(SettingsError, match=r"my-model\): similarity = .*; \?similarity="):
        spec_of(f"checkpoint:{folder}?pooling=mean")


def test_a_checkpoint_has_its_files_inside_its_folder(folder: Path, tmp_path: Path) -> None:
    saved_by_sentence_transformers(folder, tmp_path / "st", "mean")
    plain = spec_of(f"checkpoint:{tmp_path / 'st'}")
    for name in ("model.safetensors", "config.json", "1_Pooling"):
        file, other = tmp_path / "st" / name, tmp_path / "elsewhere"
        shutil.move(file, other)
        file.symlink_to(other)
        with pytest.raises(EncoderError, match=f"has a link that leads outside, .*{name}"):
            spec_of(f"checkpoint:{tmp_path / 'st'}")
        file.unlink()
        shutil.move(other, file)
    cache = tmp_path / "models--me--st"
    shutil.copytree(tmp_path / "st", cache / "snapshots" / "0123")
    (cache / "blobs").mkdir()
    for number, file in enumerate((cache / "snapshots" / "0123").glob("*.*")):
        shutil.move(file, cache / "blobs" / str(number))
        file.symlink_to(f"../../blobs/{number}")
    cached = spec_of(f"checkpoint:{cache / 'snapshots' / '0123'}")
    assert cached.revision == plain.revision
