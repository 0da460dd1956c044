from math import log

import pytest
import torch
from gensim.models.fasttext import FastTextKeyedVectors

from tasks.training.models import ncs
from tasks.training.models._fasttext import fasttext
from tasks.training.models.ncs import Ncs

QUERIES = ["read json", "read mail"] * 3
CODES = ["readJson(read)", "read_mail()", "sort(json)"] * 2


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[FastTextKeyedVectors]:
    kept: list[FastTextKeyedVectors] = []

    def remembered(texts: list[list[str]], seed: int) -> FastTextKeyedVectors:
        kept.append(fasttext(texts, seed))
        return kept[-1]

    monkeypatch.setattr(ncs, "fasttext", remembered)
    return kept


def test_vectors_are_those_of_a_hand_computation(found: list[FastTextKeyedVectors]) -> None:
    model = Ncs.of(QUERIES, CODES, Ncs.recipe)
    vector = {word: torch.tensor(found[0][word]) for word in ("read", "json", "sort", "unheard")}
    assert "sort" not in found[0].index_to_key  # below the count: by its n-grams
    query = model(model.features(["Read json, read!"], "query"), "query")
    torch.testing.assert_close(query[0], (2 * vector["read"] + vector["json"]) / 3)
    code = model(model.features(["unheard.sort(json, json)"], "code"), "code")
    idf, others = log(7 / 5) + 1, log(7) + 1
    expected = 2 * idf * vector["json"] + others * (vector["sort"] + vector["unheard"])
    torch.testing.assert_close(code[0], expected)
