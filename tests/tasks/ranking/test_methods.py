"""Laws of methods by name: alone, fused, re-ranked.

Covers `tasks.stages.rerank`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from infra.errors import BudgetExhaustedError, ModelRefusedError, SettingsError, UnknownNameError
from infra.records import Code, Query
from infra.settings import AnnotationSettings, LanguageModelSettings, Settings, StoreSettings
from infra.store.vectors import Vectors
from tasks.encoders import encoders
from tasks.ranking.fusion import fuse
from tasks.ranking.methods import Ranker, components, identity
from tasks.retrievers import retrievers
from tasks.search.pairs import Block
from tasks.search.scores import Positions
from tasks.stages.rerank import reranker
from tests.agents.conftest import QUICK, rule
from tests.fakes.benchmarks import people_benchmark
from tests.fakes.journals import limiter_of
from tests.fakes.llm_server import KEY, ScriptedServer

CODES = [Code.of(f"def f{n}(items):\n    return items[{n}]") for n in range(4)]
QUERIES = [Query.of("f1 items"), Query.of("return f3")]
ENCODER = encoders.names()[0]
MODEL = LanguageModelSettings()


class Fixed:
    """Vectors under which the codes come in the order of their ids."""

    def queries(self, encoder: str, ids: Sequence[str]) -> Vectors:
        assert encoder == ENCODER
        return np.tile(np.array([[1, 0]], np.float32), (len(ids), 1))

    def code_blocks(
        self, encoders: Sequence[str], wanted: Positions | None = None
    ) -> Iterator[Block]:
        angles = np.linspace(0, 1, len(CODES), dtype=np.float32)
        rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        yield np.arange(len(CODES), dtype=np.int32), dict.fromkeys(encoders, rows)


def ranker() -> Ranker:
    return Ranker(QUERIES, CODES, Fixed())


def test_an_encoder_ranks_by_its_vectors_and_a_retriever_by_its_words() -> None:
    by_vectors = ranker().rank(ENCODER, 4)
    order = [code for query, code, _ in by_vectors.rows() if query == QUERIES[0].query_id]
    assert order == sorted(code.code_id for code in CODES)
    by_words = ranker().rank("bm25", 1)
    assert {query: code for query, code, _ in by_words.rows()} == {
        QUERIES[0].query_id: CODES[1].code_id,
        QUERIES[1].query_id: CODES[3].code_id,
    }


def test_names_with_a_plus_are_fused() -> None:
    alone = [ranker().rank(name, 4) for name in ("bm25", ENCODER)]
    assert list(ranker().rank(f"bm25+{ENCODER}", 4).rows()) == list(fuse(alone, 4).rows())


@pytest.mark.parametrize("name", ["bm26", "bm25+", "llm:", "llm:bm25+x", "", "bm25+llm:tf-idf"])
def test_an_unknown_method_is_an_error_that_lists_the_known(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown retrieval method .* one of bag-of-words"):
        components(name)


def test_only_methods_that_ask_the_model_change_with_it() -> None:
    other = MODEL.model_copy(update={"model": "another"})
    assert identity("bm25", MODEL) == identity("bm25", other)
    assert identity("llm:bm25", MODEL) != identity("llm:bm25", other)
    assert identity("bm25", MODEL) != identity("tf-idf", MODEL)


def test_scores_of_another_revision_of_a_method_are_not_those_of_this(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("bow-sklearn", "bm25+bow-sklearn", "bm25")
    before = [identity(name, MODEL) for name in names]
    monkeypatch.setattr(retrievers.get("bow-sklearn"), "revision", "3")
    assert [identity(name, MODEL) == old for name, old in zip(names, before, strict=True)] == [
        False, False, True
    ]  # fmt: skip


def test_re_ranking_without_a_model_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="needs a language model"):
        ranker().rank("llm:bm25", 4)


def reranked(
    folder: Path,
    server: ScriptedServer,
    annotation: AnnotationSettings = AnnotationSettings(),  # noqa: B008 - is never changed
    codes: Sequence[Code] = CODES,
    **llm: str,
) -> dict[str, list[str]]:
    model = llm | {"base_url": server.base_url, "api_key": KEY}
    settings = Settings(
        llm=LanguageModelSettings.model_validate(QUICK | model),
        store=StoreSettings(folder=folder),
        annotation=annotation,
    )
    benchmark = people_benchmark().model_copy(
        update={"queries": tuple(QUERIES), "codes": tuple(codes)}
    )
    found = Ranker(QUERIES, CODES, Fixed(), reranker(benchmark, settings)).rank("llm:bm25", 4)
    lists: dict[str, list[str]] = {}
    for query, code, _ in found.rows():
        lists.setdefault(query, []).append(code)
    return lists


def test_the_model_puts_the_first_results_in_order_and_what_it_cannot_say_stays(
    tmp_path: Path,
) -> None:
    first: dict[str, list[str]] = {query.query_id: [] for query in QUERIES}
    for query, code, _ in ranker().rank("bm25", 4).rows():
        first[query].append(code)
    script = [
        rule("reranker", {"reply": {"order": [4, 3]}}, query=QUERIES[0].text),
        rule("reranker", {"text": "no idea"}, query=QUERIES[1].text),
    ]
    with ScriptedServer(script) as server:
        lists = reranked(tmp_path, server)
    before = first[QUERIES[0].query_id]
    assert lists[QUERIES[0].query_id] == [before[3], before[2], before[0], before[1]]
    assert lists[QUERIES[1].query_id] == first[QUERIES[1].query_id]


def test_a_language_that_the_agents_do_not_know_is_not_re_ranked(tmp_path: Path) -> None:
    codes = [CODES[0].model_copy(update={"language": "java"}), *CODES[1:]]
    with (
        ScriptedServer([]) as server,
        pytest.raises(SettingsError, match=r"python alone, .* holds 1 in java: .* without llm:"),
    ):
        reranked(tmp_path, server, codes=codes)


def test_a_refused_request_ends_the_run(tmp_path: Path) -> None:
    with (
        ScriptedServer([rule("reranker", {"status": 401, "message": "no such key"})]) as server,
        pytest.raises(ModelRefusedError),
    ):
        reranked(tmp_path, server)


def test_replies_in_flight_when_another_query_fails_are_kept(tmp_path: Path) -> None:
    paid = rule("reranker", {"reply": {"order": [4, 3]}, "delay_s": 0.5}, query=QUERIES[0].text)
    failing = rule("reranker", {"status": 401, "message": "no key"}, query=QUERIES[1].text)
    with ScriptedServer([paid, failing]) as server, pytest.raises(ModelRefusedError):
        reranked(tmp_path, server)
    with ScriptedServer([rule("reranker", {"reply": {"order": [4, 3]}})]) as server:
        reranked(tmp_path, server)
        assert len(server.calls) == 1, "the query that failed"


def test_what_judges_have_spent_is_taken_off_the_budget_of_re_ranking(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path)
    dear = limiter_of(store, LanguageModelSettings(model="openai/dear"))
    dear.settle(dear.reserve(100, 9.5).result(), 100, 9.5).result()
    judges = AnnotationSettings(judges=("openai/dear",))
    with ScriptedServer([rule("reranker", {"reply": {"order": [4, 3]}})]) as server:
        with pytest.raises(BudgetExhaustedError, match="BUDGET_USD"):
            reranked(tmp_path, server, judges, model="openai/gpt-4o-mini", budget_usd="9.5")
        assert server.calls == []
