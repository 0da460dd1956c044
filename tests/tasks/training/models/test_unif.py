import torch

from infra.words import words
from tasks.training.models._fasttext import fasttext
from tasks.training.models.unif import Unif

QUERIES = ["read json", "read mail"] * 3
CODES = ["readJson(path)", "read_mail()"] * 3


def test_tables_begin_with_fasttext_and_vectors_are_those_of_a_hand_computation() -> None:
    model = Unif.of(QUERIES, CODES, Unif.recipe)
    found = fasttext([words(text) for text in (*QUERIES, *CODES)], Unif.recipe.seed)
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
