"""Laws of the leaderboard: order, intervals, marks, pool, speeds, page.

Covers `tasks.reports.leaderboard_page`.
"""

from dataclasses import replace

import pytest

from infra.identity import CodeId, PairKey, QueryId
from infra.settings.sections import USUAL_METRICS
from tasks.benchmarks.runs import rankings_of
from tasks.reports.leaderboard import (
    Cell,
    Speed,
    above_mutants,
    build_leaderboard,
    judged_share,
    per_query_table,
    unjudged_results,
    unranked_queries,
)
from tasks.reports.leaderboard_page import leaderboard_document
from tasks.reports.render import html_page, markdown_page
from tests.tasks.reports.cases import benchmark, leaderboard, run, scores


def test_methods_stand_by_their_mean_and_equal_ones_by_name() -> None:
    found = [(each.letter, each.method) for each in leaderboard().rows]
    assert found == [("a", "good"), ("b", "fair"), ("c", "same as fair"), ("d", "bad")]


def test_a_method_is_marked_for_those_it_surpasses_and_not_for_its_equals() -> None:
    marks = [each.cells["NDCG@10"].surpasses for each in leaderboard().rows]
    assert marks == ["b c d", "d", "d", ""]


def test_every_mean_lies_in_its_interval_and_none_is_of_no_width() -> None:
    for each in leaderboard().rows:
        for cell in each.cells.values():
            assert cell.low <= cell.mean <= cell.high
            assert cell.low < cell.high


def test_the_same_scores_give_the_same_leaderboard() -> None:
    assert leaderboard() == leaderboard()


def test_without_methods_there_is_an_empty_leaderboard() -> None:
    empty = build_leaderboard(benchmark(), "fingerprint", [], USUAL_METRICS, 50)
    assert empty.rows == ()
    assert "0 of 40 queries" in html_page(leaderboard_document(empty))


def test_judgements_that_were_left_out_are_counted_on_the_page() -> None:
    left_out = {"judgement of a code that is not in the corpus": 1_234}
    incomplete = benchmark().model_copy(update={"dropped": left_out})
    board = build_leaderboard(incomplete, "fingerprint", scores(benchmark()), USUAL_METRICS, 50)
    told = "judgement of a code that is not in the corpus (1,234)"
    assert told in html_page(leaderboard_document(board))
    assert told in markdown_page(leaderboard_document(board))


def test_languages_have_rows_and_a_mean_in_which_each_counts_alike() -> None:
    of = benchmark()
    languages = {code.code_id: "go" if place < 10 else "" for place, code in enumerate(of.codes)}
    codes = [code.model_copy(update={"language": languages[code.code_id]}) for code in of.codes]
    of = of.model_copy(update={"codes": tuple(codes)})
    board = build_leaderboard(of, "fingerprint", scores(of), USUAL_METRICS, 50)
    asked: dict[str, set[str]] = {"go": set(), "python": set()}
    for label in of.labels:
        if label.relevance > 0:
            asked[languages[label.code_id] or "python"].add(label.query_id)
    assert [(row.language, row.queries) for row in board.languages] == [
        ("go", len(asked["go"])),
        ("python", len(asked["python"])),
        ("mean", len(asked["go"]) + len(asked["python"])),
    ]
    values = {entry.method: entry.values["MRR"] for entry in scores(of)}
    for method, by_query in values.items():
        means = [
            sum(by_query[query] for query in asked[language]) / len(asked[language])
            for language in ("go", "python")
        ]
        found = [row.means["MRR"][method] for row in board.languages]
        assert found == pytest.approx([*means, sum(means) / 2])
    assert "| mean |" in markdown_page(leaderboard_document(board))
    assert leaderboard().languages == ()


def test_the_table_names_every_method_once() -> None:
    text = markdown_page(leaderboard_document(leaderboard()))
    title, table = text.split("## Scores\n\n")[1].split("\n\n")[:2]
    assert title == "### Means over the 40 of 40 queries that have a match"
    lines = table.split("\n")
    assert len(lines) == 2 + 4
    assert lines[2].startswith("| a | good | 1.000 \\[0.928, 1.000\\] b c d | ")


def test_queries_are_counted_by_their_matches() -> None:
    assert leaderboard().matches == {2: 40}
    of = benchmark()
    some = tuple(label for place, label in enumerate(of.labels) if place % 4 or place > 40)
    board = build_leaderboard(
        of.model_copy(update={"labels": some}), "f", scores(of), USUAL_METRICS, 50
    )
    assert board.matches == {1: 11, 2: 29}
    assert "| 1 | 11 |" in markdown_page(leaderboard_document(board))


def test_the_speed_of_methods_is_shown_where_it_was_measured() -> None:
    board = leaderboard()
    assert "Which to take" not in html_page(leaderboard_document(board))

    def shown(*speeds: Speed) -> str:
        rows = zip(board.rows, speeds, strict=False)
        timed = tuple(row.model_copy(update={"speed": speed}) for row, speed in rows)
        return markdown_page(leaderboard_document(board.model_copy(update={"rows": timed})))

    words = shown(Speed(queries=12.5), Speed(queries=1_250.4))
    assert "|  | method | NDCG@10 | queries a second |" in words
    assert "| a | good | 1.000 \\[0.928, 1.000\\] b c d | 12.5 |" in words
    assert "| 1,250 |" in words
    one = Speed(texts=0.512, megabytes=3072.0, queries=9, machines=("Xeon, 2 cores",))
    api = Speed(texts=40, megabytes=0.61, usd=0.00123, queries=8, machines=("API",))
    page = shown(one, api, Speed(queries=1))
    head = "texts a second | MB | US\\$ for 1,000 texts | queries a second | encoded by |"
    assert f"NDCG@10 | {head}" in page
    assert "| 0.512 | 3,072 |  | 9 | Xeon, 2 cores |" in page
    assert "| 40 | 0.61 | 0.00123 | 8 | API |" in page
    assert "|  |  |  | 1 |  |" in page
    assert "encoded by" not in shown(one, one), "their speeds compare"
    about = words.partition("## Which to take")[2]
    assert "queries a second: ranking alone" in about
    assert "MB:" not in about
    assert "US\\$ for 1,000 texts: of this benchmark's codes" in page


def test_every_query_has_a_row_for_every_method() -> None:
    table = per_query_table(scores(benchmark()))
    assert table.num_rows == 4 * 40
    assert table.column_names[:3] == ["method", "query_id", "NDCG@10"]
    assert table["method"].to_pylist() == sorted(table["method"].to_pylist())
    assert per_query_table([]).num_rows == 0


QRELS = {"q": {"a": 1.0, "b": 0.0}, "p": {"x": 1.0}}


def test_the_judged_share_counts_what_was_returned_for_judged_queries() -> None:
    run_of = rankings_of({"q": {"a": 3.0, "z": 2.0, "b": 1.0}, "stranger": {"a": 1.0}})
    assert judged_share(run_of, QRELS) == pytest.approx(2 / 3)
    assert judged_share(rankings_of({}), QRELS) == 1.0


def test_queries_without_any_result_are_counted_and_told() -> None:
    assert unranked_queries(rankings_of({"q": {"a": 1.0}, "stranger": {"a": 1.0}}), QRELS) == 1
    assert unranked_queries(rankings_of({}), QRELS) == 2
    of = benchmark()
    first, *others = scores(of)
    board = build_leaderboard(
        of, "fingerprint", [replace(first, unranked=1_234), *others], USUAL_METRICS, 50
    )
    told = "Queries without any result, of 40: good 1,234. Each counts as 0"
    assert told in markdown_page(leaderboard_document(board))
    assert "without any result" not in markdown_page(leaderboard_document(leaderboard()))


def test_unjudged_results_are_listed_once_the_highest_first() -> None:
    first = rankings_of({"q": {"a": 3.0, "z": 2.0}, "p": {"y": 1.0}, "stranger": {"c": 1.0}})
    second = rankings_of({"q": {"z": 9.0}})
    found = unjudged_results({"first": first, "second": second}, QRELS)
    assert [(each.query_id, each.code_id, each.rank, each.methods) for each in found] == [
        ("q", "z", 1, ("first", "second")),
        ("p", "y", 1, ("first",)),
    ]


def test_unjudged_results_beyond_the_first_ten_do_not_count() -> None:
    deep = rankings_of({"q": {"a": 30.0, "b": 29.0, **{f"z{n}": 20.0 - n for n in range(9)}}})
    assert len(unjudged_results({"m": deep}, QRELS)) == 8
    assert judged_share(deep, QRELS) == pytest.approx(2 / 10)
    assert unjudged_results({"m": run(benchmark(), 9.0)}, {}) == []


def test_the_page_is_whole_and_shows_every_method() -> None:
    board = leaderboard()
    page = html_page(leaderboard_document(board, 2, board))
    assert page.count("<td>same as fair</td>") == 2, "before and after unjudged results were judged"
    assert "never judged: 2 pairs" in page


def test_a_right_code_counts_that_is_ranked_above_all_its_mutants() -> None:
    ranked = rankings_of(
        {
            "q1": {"right": 3.0, "m1": 2.0, "m2": 1.0},
            "q2": {"m1": 3.0, "right": 2.0},
            "q3": {"right": 1.0},
            "q4": {"m1": 1.0},
            "q5": {"other": 1.0},
        }
    )
    mutants = {PairKey(QueryId(f"q{n}"), CodeId("right")): ["m1", "m2"] for n in range(1, 7)}
    share = above_mutants(ranked, mutants)
    assert share is not None
    assert share.mean == 2 / 6, "q1 and q3; of q5 and q6 neither is ranked"
    assert (round(share.low, 3), round(share.high, 3)) == (0.097, 0.7), "Wilson"
    assert above_mutants(ranked, {}) is None


def test_the_table_has_a_column_of_mutants_where_the_benchmark_has_any() -> None:
    share = Cell(mean=0.25, low=0.1, high=0.5)
    rows = tuple(row.model_copy(update={"mutants": share}) for row in leaderboard().rows)
    with_shares = leaderboard().model_copy(update={"rows": rows})
    plain, more = (
        markdown_page(leaderboard_document(board)) for board in (leaderboard(), with_shares)
    )
    assert "above mutants" not in plain
    assert "above mutants: share of right codes" in more
    assert "| above mutants" in more
    assert more.count("0.250") == len(rows)
