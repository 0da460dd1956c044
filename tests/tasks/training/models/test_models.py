"""Laws of the models that are trained from nothing.

Covers `codesearchnet`, `fasttext`, `lstm`, `_layers`, `tasks.training.joint` and
`tasks.training.model_text`.
"""

import os
import subprocess
import sys
from math import log
from pathlib import Path

import numpy as np
import pytest
import torch
from gensim.models.fasttext import FastTextKeyedVectors
from torch import nn

from infra.text import words
from tasks.training.model_text import (
    PADDING,
    bag,
    calls,
    code_tokens,
    ids,
    name_words,
    query_tokens,
    vocabulary,
)
from tasks.training.models import models
from tasks.training.models._layers import BidirectionalLstm, attended
from tasks.training.models.codesearchnet import Convolutions, NeuralBagOfWords, WeightedMean
from tasks.training.models.fasttext import SIZE, Ncs, Unif, fasttext
from tasks.training.models.lstm import DeepCs, TokAtt, max_pooled


@pytest.mark.parametrize(
    ("name", "rate", "batch", "loss"),
    [
        ("neural-bag-of-words", 0.01, 1000, "hardest-margin"),
        ("rnn", 0.01, 1000, "softmax"),
        ("cnn", 5e-4, 1000, "softmax"),
        ("self-attention", 5e-4, 450, "softmax"),
        ("cnn-self-attention", 5e-4, 650, "softmax"),
    ],
)
def test_recipes_are_those_of_the_published_code(
    name: str, rate: float, batch: int, loss: str
) -> None:
    recipe = models.get(name).recipe
    assert (recipe.learning_rate, recipe.batch_size, recipe.loss) == (rate, batch, loss)
    assert (recipe.query_length, recipe.code_length, recipe.patience) == (30, 200, 5)
    assert recipe.similarity == ("cosine" if loss == "hardest-margin" else "product")


def test_a_convolution_sees_seven_tokens_before_and_eight_behind() -> None:
    layer = Convolutions(1, 16).eval()
    convolution = layer.layers[0]
    assert isinstance(convolution, nn.Conv1d)
    nn.init.ones_(convolution.weight)
    nn.init.zeros_(convolution.bias)  # type: ignore[arg-type]
    vectors = torch.zeros(1, 30, 128)
    vectors[0, 15, 0] = 1.0
    seen = layer(vectors, torch.ones(1, 30, dtype=torch.bool))[0, :, 0] > 0
    assert seen.nonzero().flatten().tolist() == list(range(7, 23))


CODE = "def read_json(path):\n    with open(path) as file:\n        return json.load(file)\n"


def model() -> DeepCs:
    return DeepCs.of(["read json"], [CODE], DeepCs.recipe).eval()


def test_a_code_is_its_name_its_calls_and_its_words_without_keywords() -> None:
    made = model()
    features = made.features([CODE], "code")
    told = {
        field: [made.vocabularies[field].id_to_token(one) for one in features[field][0].tolist()]
        for field in features
    }
    assert told == {
        "name": ["read", "json"],
        "calls": ["open", "load"],
        "code": ["read", "json", "path", "open", "file", "load"],
    }


def test_a_code_of_another_language_is_read_by_its_grammar() -> None:
    code = 'String readText(File f) { // why\n  return trim(new Reader("a b", f).read());\n}'
    assert {'"a b"', "return"} <= set(code_tokens(code))
    assert "why" not in code_tokens(code)
    assert name_words(code) == ["read", "text"]
    assert calls(code) == ["Reader", "read", "trim"]
    assert bag(code) == ["string", "read", "text", "file", "f", "trim", "reader"]


def test_the_bag_is_the_maximum_over_words_and_the_fusion_lies_within_tanh() -> None:
    made = model()
    with torch.no_grad():
        features = made.features([CODE], "code")
        pooled = made._pooled("code", features["code"])
        each = torch.tanh(made.bag(made.tables["code"](features["code"][0])))
        torch.testing.assert_close(pooled[0], torch.tanh(each.max(0).values))
        assert made(features, "code").abs().max() < 1


TEXTS = [["read", "json"], ["read", "mail"]] * 9
PROGRAM = f"""
from tasks.training.models.fasttext import fasttext
found = fasttext({TEXTS}, 3, 1000)
print(found.index_to_key, found["read"].tolist(), found["unheard"].tolist())
"""


def test_vectors_do_not_depend_on_the_process_and_its_hashes() -> None:
    found = fasttext(TEXTS, 3, 1000)
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert told == f"{found.index_to_key} {found['read'].tolist()} {found['unheard'].tolist()}\n"


def test_a_corpus_without_a_frequent_word_has_vectors_too() -> None:
    found = fasttext([["read"], ["json"]], 1, 1000)
    assert sorted(found.index_to_key) == ["json", "read"]


def test_words_under_the_count_are_left_to_their_n_grams() -> None:
    found = fasttext([["read"] * 5 + ["json"] * 4], 1, 1000)
    assert found.index_to_key == ["read"]
    assert found["json"].shape == (SIZE,)
    assert np.linalg.norm(found["json"]) > 0


VECTORS = torch.tensor([[[1.0, -2.0], [3.0, -4.0], [50.0, 60.0]]])
MASK = torch.tensor([[True, True, False]])


def test_the_weighted_mean_is_that_of_a_hand_computation() -> None:
    mean = WeightedMean(2)
    with torch.no_grad():
        mean.weigh.weight.copy_(torch.tensor([[0.5, 0.0]]))
        first, second = torch.sigmoid(torch.tensor([0.5, 1.5])).tolist()
        expected = torch.tensor([[first + 3 * second, -2 * first - 4 * second]]) / (first + second)
        torch.testing.assert_close(mean(VECTORS, MASK), expected)


def test_attention_is_the_softmax_of_the_scores_of_real_tokens() -> None:
    scores = torch.tensor([[0.0, 3.0, 99.0]]).log()
    torch.testing.assert_close(attended(VECTORS, scores, MASK), torch.tensor([[3.0, -4.0]]))
    scores = torch.tensor([[1.0, 3.0, 99.0]]).log()
    torch.testing.assert_close(attended(VECTORS, scores, MASK), torch.tensor([[2.5, -3.5]]))


def test_the_greatest_is_taken_among_real_tokens() -> None:
    assert max_pooled(VECTORS, MASK).tolist() == [[3.0, -2.0]]


def test_one_direction_of_the_lstm_begins_at_the_last_real_token() -> None:
    torch.manual_seed(1)
    lstm = BidirectionalLstm(2, 4, layers=2).eval()
    found = lstm(VECTORS, MASK)[:, :2]
    back, _ = lstm.back(VECTORS[:, :2].flip(1))
    forth, _ = lstm.forth(VECTORS[:, :2])
    torch.testing.assert_close(found, torch.cat([forth, back.flip(1)], 2))


QUERIES = ["read json", "read mail"] * 3
CODES = ["readJson(read)", "read_mail()", "sort(json)"] * 3


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[FastTextKeyedVectors]:
    kept: list[FastTextKeyedVectors] = []

    def remembered(texts: list[list[str]], seed: int, buckets: int) -> FastTextKeyedVectors:
        kept.append(fasttext(texts, seed, buckets))
        return kept[-1]

    monkeypatch.setattr("tasks.training.models.fasttext.fasttext", remembered)
    return kept


def test_vectors_are_those_of_a_hand_computation(found: list[FastTextKeyedVectors]) -> None:
    model = Ncs.of(QUERIES, CODES, Ncs.recipe)
    vector = {word: torch.tensor(found[0][word]) for word in ("read", "json", "sort", "unheard")}
    assert "sort" not in found[0].index_to_key  # below the count: by its n-grams
    query = model(model.features(["Read json, read!"], "query"), "query")
    torch.testing.assert_close(query[0], (2 * vector["read"] + vector["json"]) / 3)
    code = model(model.features(["unheard.sort(json, json)"], "code"), "code")
    idf, others = log(10 / 7) + 1, log(10) + 1
    expected = 2 * idf * vector["json"] + others * (vector["sort"] + vector["unheard"])
    torch.testing.assert_close(code[0], expected)


def test_ncs_meets_no_query_and_has_the_table_of_n_grams_that_is_asked_for(
    found: list[FastTextKeyedVectors],
) -> None:
    recipe = Ncs.recipe.model_copy(update={"buckets": 500})
    model = Ncs.of(["asked asked asked asked asked", *QUERIES], CODES, recipe)
    assert "asked" not in found[0].index_to_key
    assert len(model.vectors) == len(found[0].index_to_key) + 500
    torch.testing.assert_close(model.vectors, Ncs.of([], CODES, recipe).vectors)


def test_queries_are_lower_cased_and_keep_their_punctuation() -> None:
    assert query_tokens("How to read_JSON, fast?") == ["how", "to", "read_json", ",", "fast", "?"]


def test_code_falls_into_names_numbers_and_operators() -> None:
    assert code_tokens("x2 **= readFile('a b') // 2 ->[1]") == [
        "x2", "**=", "readFile", "(", "'", "a", "b", "'", ")", "//", "2", "->", "[", "1", "]",
    ]  # fmt: skip


def test_the_name_is_that_of_the_first_function() -> None:
    assert name_words("x = 1\nasync def readFile(a):\n  def g(): pass") == ["read", "file"]
    assert name_words("x = 1") == []


@pytest.mark.parametrize(
    ("code", "called"),
    [
        ("f(g(1), o.h())", ["g", "h", "f"]),
        ("    def m(self):\n        return open(self.p).read()\n", ["open", "read"]),
        ("(lambda: 1)()\nd['x'](2)", []),
        ("print 'Python 2'", []),
    ],
)
def test_calls_come_in_the_order_in_which_they_end(code: str, called: list[str]) -> None:
    assert calls(code) == called


def test_a_rare_word_falls_into_pieces_and_a_foreign_letter_into_bytes() -> None:
    tokenizer = vocabulary([["reader", "read"]] * 10, 8, 10, pieces=True)
    found = ids(tokenizer, [["read"], ["dear"], ["€"], ["read"] * 20, []])
    used = [[tokenizer.id_to_token(one) for one in row if one != PADDING] for row in found]
    assert used == [
        ["Ġread"],
        ["Ġ", "d", "e", "a", "r"],
        ["Ġ", "â", "Ĥ", "¬"],
        ["Ġread"] * 8,
        ["<unk>"],
    ]


def test_whole_words_are_known_from_their_count_on() -> None:
    tokenizer = vocabulary([["read", "read", "json"]], 8, 2, pieces=False)
    assert set(tokenizer.get_vocab()) == {"<pad>", "<unk>", "read"}
    assert ids(tokenizer, [["read", "json"]]) == [[2, 1]]


def test_vectors_of_tok_att_are_those_of_a_hand_computation() -> None:
    model = TokAtt.of(["read json", "read"], ["readJson(path)", "read"], TokAtt.recipe).eval()
    with torch.no_grad():
        query = model.features(["read", "read json"], "query")
        outputs, (last, _) = model.lstms["query"](model.tables["query"](query["query"][1:]))
        torch.testing.assert_close(model(query, "query")[1], last[0, 0])
        torch.testing.assert_close(model(query, "query")[0], outputs[0, 0])
        code = model.features(["readJson path", "read"], "code")
        outputs, _ = model.lstms["code"](model.tables["code"](code["code"][:1]))
        scores = torch.tanh(model.dense(outputs[0])) @ model.attention.weight[0]
        expected = scores.softmax(0) @ outputs[0]
        torch.testing.assert_close(model(code, "code")[0], expected)


UNIF_QUERIES = ["read json", "read mail"] * 3
UNIF_CODES = ["readJson(path)", "read_mail()"] * 3


def test_tables_begin_with_fasttext_and_vectors_are_those_of_a_hand_computation() -> None:
    model = Unif.of(UNIF_QUERIES, UNIF_CODES, Unif.recipe)
    texts = [words(text) for text in (*UNIF_QUERIES, *UNIF_CODES)]
    found = fasttext(texts, Unif.recipe.seed, Unif.recipe.buckets)
    read, json, mail = (torch.tensor(found[word]) for word in ("read", "json", "mail"))
    with torch.no_grad():
        query = model(model.features(["mail JSON read", "json read"], "query"), "query")
        torch.testing.assert_close(query[1], (read + json) / 2)
        code = model(model.features(["readJson", "read"], "code"), "code")
        learned = model.attention.weight[0]
        first, second = torch.stack([read @ learned, json @ learned]).softmax(0)
    torch.testing.assert_close(query[0], (mail + json + read) / 3)
    torch.testing.assert_close(code[0], first * read + second * json)
    torch.testing.assert_close(code[1], read)


BY_LANGUAGE = {
    "go": "// Read it.\nfunc (r *Reader) ReadAll(n int) error {\n\treturn r.do(n)\n}",
    "java": "@Override\npublic List<String> get(int n) throws E {\n  return own.get(n);\n}",
    "javascript": "async readAll(n, m = 2) {\n  return await this.do(n);\n}",
    "php": "public function readAll($n) {\n  return $this->do($n);\n}",
    "python": '@cached("x")\nasync def read_all(n: A = f(2)) -> B:\n    end = n\n    return end',
    "ruby": "def read_all(n)\n  ok?(n) ? a : b\nend",
}


def bag_of_words(codes: list[str]) -> NeuralBagOfWords:
    recipe = NeuralBagOfWords.recipe.model_copy(update={"code_length": 20, "query_length": 5})
    return NeuralBagOfWords.of(["read all"] * len(codes), codes, recipe).eval()


def encoded(model: NeuralBagOfWords, codes: list[str]) -> torch.Tensor:
    with torch.no_grad():
        return model.forward(model.features(codes, "code"), "code")


def test_each_language_has_an_encoder_of_its_own_and_all_share_that_of_queries(
    tmp_path: Path,
) -> None:
    codes = [*BY_LANGUAGE.values(), BY_LANGUAGE["ruby"]]
    model = bag_of_words(codes)
    others = [f"code-{name}" for name in sorted(BY_LANGUAGE.keys() - {"ruby"})]
    assert [*model.vocabularies] == ["query", "code", *others], "ruby is the most frequent"
    together = encoded(model, codes)
    for row, code in enumerate(codes):
        torch.testing.assert_close(together[row], encoded(model, [code])[0])
    with torch.no_grad():
        model.tables["code-go"].zero_()
    changed = (encoded(model, codes) != together).any(1).tolist()
    assert changed == [True, *[False] * 6], "of Go alone"
    model.save(tmp_path)
    read = NeuralBagOfWords.load(tmp_path).eval()
    torch.testing.assert_close(encoded(read, codes), encoded(model, codes))


def test_code_of_one_language_has_one_encoder_whatever_a_few_texts_look_like() -> None:
    model = bag_of_words([BY_LANGUAGE["python"]] * 150 + [BY_LANGUAGE["ruby"]])
    assert [*model.vocabularies] == ["query", "code"]
    assert encoded(model, [BY_LANGUAGE["go"], BY_LANGUAGE["python"]]).isfinite().all()
