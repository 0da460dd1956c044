"""One query encoder with a code encoder for each language of the training code.

Covers `tasks.training.models._codesearchnet`.
"""

from pathlib import Path

import torch

from tasks.training.models.neural_bag_of_words import NeuralBagOfWords

CODES = {
    "go": "// Read it.\nfunc (r *Reader) ReadAll(n int) error {\n\treturn r.do(n)\n}",
    "java": "@Override\npublic List<String> get(int n) throws E {\n  return own.get(n);\n}",
    "javascript": "async readAll(n, m = 2) {\n  return await this.do(n);\n}",
    "php": "public function readAll($n) {\n  return $this->do($n);\n}",
    "python": '@cached("x")\nasync def read_all(n: A = f(2)) -> B:\n    end = n\n    return end',
    "ruby": "def read_all(n)\n  ok?(n) ? a : b\nend",
}


def made(codes: list[str]) -> NeuralBagOfWords:
    recipe = NeuralBagOfWords.recipe.model_copy(update={"code_length": 20, "query_length": 5})
    return NeuralBagOfWords.of(["read all"] * len(codes), codes, recipe).eval()


def encoded(model: NeuralBagOfWords, codes: list[str]) -> torch.Tensor:
    with torch.no_grad():
        return model.forward(model.features(codes, "code"), "code")


def test_each_language_has_an_encoder_of_its_own_and_all_share_that_of_queries(
    tmp_path: Path,
) -> None:
    codes = [*CODES.values(), CODES["ruby"]]
    model = made(codes)
    others = [f"code-{name}" for name in sorted(CODES.keys() - {"ruby"})]
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
    model = made([CODES["python"]] * 150 + [CODES["ruby"]])
    assert [*model.vocabularies] == ["query", "code"]
    assert encoded(model, [CODES["go"], CODES["python"]]).isfinite().all()
