import os
import subprocess
import sys

import numpy as np

from tasks.training.models._fasttext import SIZE, fasttext

TEXTS = [["read", "json"], ["read", "mail"]] * 9
PROGRAM = f"""
from tasks.training.models._fasttext import fasttext
found = fasttext({TEXTS}, 3)
print(found.index_to_key, found["read"].tolist(), found["unheard"].tolist())
"""


def test_vectors_do_not_depend_on_the_process_and_its_hashes() -> None:
    found = fasttext(TEXTS, 3)
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert told == f"{found.index_to_key} {found['read'].tolist()} {found['unheard'].tolist()}\n"


def test_a_corpus_without_a_frequent_word_has_vectors_too() -> None:
    found = fasttext([["read"], ["json"]], 1)
    assert sorted(found.index_to_key) == ["json", "read"]


def test_words_under_the_count_are_left_to_their_n_grams() -> None:
    found = fasttext([["read"] * 5 + ["json"] * 4], 1)
    assert found.index_to_key == ["read"]
    assert found["json"].shape == (SIZE,)
    assert np.linalg.norm(found["json"]) > 0
