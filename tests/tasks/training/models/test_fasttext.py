import os
import subprocess
import sys

import numpy as np

from tasks.training.models._fasttext import SIZE, fasttext

PROGRAM = """
from tasks.training.models._fasttext import fasttext
found = fasttext([["read", "json"], ["read", "mail"]] * 9, 3)
print(found.index_to_key, found["read"].tolist(), found["unheard"].tolist())
"""


def test_vectors_are_the_same_whatever_pythons_hashes_are() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(told) == 1


def test_a_corpus_without_a_frequent_word_has_vectors_too() -> None:
    found = fasttext([["read"], ["json"]], 1)
    assert sorted(found.index_to_key) == ["json", "read"]


def test_words_under_the_count_are_left_to_their_n_grams() -> None:
    found = fasttext([["read"] * 5 + ["json"] * 4], 1)
    assert found.index_to_key == ["read"]
    assert found["json"].shape == (SIZE,)
    assert np.linalg.norm(found["json"]) > 0
