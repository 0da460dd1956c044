"""Laws of cross-encoders and multi-vector encoders: the library's own order and scores."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import CrossEncoder, MultiVectorEncoder

from infra.errors import EncoderError, UnknownNameError
from infra.records import Code, Query
from infra.store.vectors import Vectors
from tasks.ranking.methods import Ranker, components, identity, renamed, steps_of
from tasks.ranking.pair_models import RERANKED, pair_models
from tests.fakes.checkpoints import make_checkpoint

CODES = [Code.of(f"def f{n}(items):\n    return sort(items[{n}]), 'list {n}'") for n in range(130)]
QUERIES = [Query.of("sort the list by length"), Query.of("read items 7"), Query.of("zebra")]


class NoVectors:
    """No encoder ranks here."""

    def queries(self, encoder: str, ids: Sequence[str]) -> Vectors:
        raise AssertionError(encoder)

    code_blocks = queries


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    base = str(make_checkpoint("minilm", made / "base", 16))
    CrossEncoder(base, num_labels=1).save_pretrained(str(made / "crossed"))
    CrossEncoder(base, num_labels=3).save_pretrained(str(made / "classes"))
    MultiVectorEncoder(base).save_pretrained(str(made / "tokens"))
    return made


def ranked(method: str, depth: int) -> tuple[dict[str, list[tuple[str, float]]], int]:
    """Return query → (code, score), best first, and by how much the ranker advanced."""
    told: list[int] = []
    ranker = Ranker(QUERIES, CODES, NoVectors(), told.append)  # type: ignore[arg-type]
    found: dict[str, list[tuple[str, float]]] = {}
    for query, code, score in ranker.rank(method, depth).rows():
        found.setdefault(query, []).append((code, score))
    return found, sum(told)


def in_order(codes: Sequence[Code], scores: Sequence[float]) -> list[tuple[str, float]]:
    pairs = [(code.code_id, float(score)) for code, score in zip(codes, scores, strict=True)]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


def assert_same(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> None:
    """Check scores within 1e-5, and the order where the expected scores differ by more."""
    by_id = dict(expected)
    assert {code for code, _ in found} == set(by_id)
    np.testing.assert_allclose([score for _, score in found], [s for _, s in expected], atol=1e-5)
    np.testing.assert_allclose([by_id[code] for code, _ in found], [s for _, s in found], atol=1e-5)


def test_late_interaction_ranks_all_codes_as_the_library_scores_them(folder: Path) -> None:
    model = MultiVectorEncoder(str(folder / "tokens"))
    asked = model.encode_query([query.text for query in QUERIES])
    scores = model.similarity(asked, model.encode_document([code.text for code in CODES]))
    method = f"late:{folder / 'tokens'}"
    found, steps = ranked(method, len(CODES))
    for query, row in zip(QUERIES, scores.tolist(), strict=True):
        assert_same(found[query.query_id], in_order(CODES, row))
    assert steps == len(CODES) == steps_of(method, len(QUERIES), len(CODES))
    some, _ = ranked(method, 7)
    assert some == {query: rows[:7] for query, rows in found.items()}


@pytest.mark.parametrize("kind", ["cross", "late"])
def test_the_first_hundred_are_re_ranked_as_the_library_scores_them(
    folder: Path, kind: str
) -> None:
    name = {"cross": "crossed", "late": "tokens"}[kind]
    method = f"bm25>{kind}:{folder / name}"
    before, _ = ranked("bm25", 120)
    found, steps = ranked(method, 120)
    text_of: dict[str, Code] = {code.code_id: code for code in CODES}
    for query in QUERIES:
        first = [text_of[code] for code, _ in before.get(query.query_id, [])]
        head, rest = first[:RERANKED], first[RERANKED:]
        if not head:
            continue
        if kind == "cross":
            pairs = [(query.text, code.text) for code in head]
            scores = CrossEncoder(str(folder / name)).predict(pairs).tolist()
        else:
            model = MultiVectorEncoder(str(folder / name))
            documents = model.encode_document([code.text for code in head])
            scores = model.similarity(model.encode_query([query.text]), documents)[0].tolist()
        assert_same(found[query.query_id][: len(head)], in_order(head, scores))
        below = [code for code, _ in found[query.query_id][len(head) :]]
        assert below == [code.code_id for code in rest], "the others stay below as they were"
    assert steps == len(QUERIES)
    assert steps_of(method, len(QUERIES), len(CODES)) == len(QUERIES)
    assert ranked(method, 5)[0] == {query: rows[:5] for query, rows in found.items()}


@pytest.mark.parametrize(
    "method", ["cross:x", "bm25+cross:x", "bm25>minilm", "bm25>", "late:", "bm25>cross:", ">late:x"]
)
def test_a_model_where_it_cannot_stand_is_refused_with_the_way_to_write_it(method: str) -> None:
    with pytest.raises(UnknownNameError, match="cross:FOLDER after > to re-rank"):
        components(method)


def test_a_reference_has_a_name_for_files_and_the_weights_are_part_of_the_identity(
    folder: Path, tmp_path: Path
) -> None:
    mine = shutil.copytree(folder / "crossed", tmp_path / "mine")
    assert renamed(f"bm25>cross:{mine}", pair_models.adopt) == "bm25>cross:mine"
    assert renamed(f"bm25>cross:other={mine}", pair_models.adopt) == "bm25>cross:other"
    before = identity("bm25>cross:mine")
    config = json.loads((mine / "config.json").read_text("utf-8"))
    (mine / "config.json").write_text(json.dumps(config | {"hidden_dropout_prob": 0.5}))
    assert identity("bm25>cross:mine") != before


def test_a_folder_that_is_no_such_model_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="does not exist"):
        pair_models.adopt(f"late:{tmp_path / 'nowhere'}")
    with pytest.raises(EncoderError, match="3 scores for a pair"):
        pair_models.load(f"cross:{folder / 'classes'}")
    foreign = shutil.copytree(folder / "tokens", tmp_path / "foreign")
    modules = json.loads((foreign / "modules.json").read_text("utf-8"))
    modules[1]["type"] = "subprocess.Popen"
    (foreign / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(EncoderError, match=r"names 'subprocess\.Popen'"):
        pair_models.load(f"late:{foreign}")
    damaged = shutil.copytree(folder / "tokens", tmp_path / "damaged")
    (damaged / "modules.json").write_text("{")
    with pytest.raises(EncoderError, match="cannot load 'late:"):
        pair_models.load(f"late:{damaged}")
