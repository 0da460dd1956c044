"""Laws of the published figures, which a typing error would break."""

import numpy as np
import pytest

from tasks.estimation.study import BUDGETS
from tasks.estimators import estimators
from tasks.estimators.kape import WEIGHTINGS
from tasks.reports.kape_paper import elsewhere, paper_tables, published_tables

PAPER = published_tables()
TABLE_5 = {place: tuple(of.values()) for place, of in elsewhere("Table 5").items()}
TRAINED = elsewhere("Table 2")


def test_mean_and_deviation_of_table_5_are_those_of_its_ten_values() -> None:
    for place, (*values, mean, deviation) in TABLE_5.items():
        assert len(values) == 10
        assert mean == pytest.approx(np.mean(values), abs=1.01e-4), place
        assert deviation == pytest.approx(np.std(values), abs=1.01e-4), place
        assert deviation < 0.01, "the paper's conclusion"


def test_tables_4_and_7_have_the_figures_of_table_5() -> None:
    assert {(name, *by_model) for name, by_model in PAPER.table4.items()} == {
        ("PHP", "RoBERTa", "GraphCodeBERT")
    }
    for model, estimates in PAPER.table4["PHP"].items():
        values = TABLE_5[f"PHP, {model}"]
        assert estimates["kape, k = 1"] == values[:1]
        assert estimates["kape, k = 5"] == values[4:5]
    for model, weightings in PAPER.table7["JavaScript"].items():
        assert tuple(weightings) == WEIGHTINGS
        assert weightings["adaptive-similarity"] == TABLE_5[f"JavaScript, {model}"][:10]
        assert {len(values) for values in weightings.values()} == {10}
        assert len({values[:2] for values in weightings.values()}) == 1, "both of two are kept"


def test_table_1_has_ten_queries_of_which_seven_have_one_rank_with_their_nearest() -> None:
    rows = PAPER.table1["Ruby"]["GraphCodeBERT"]
    assert (len(rows), sum(first == second for first, second, _ in rows)) == (10, 7)


def test_people_order_the_models_as_kape_does() -> None:
    judged = elsewhere("human evaluation")
    assert judged["RoBERTa"] == {"right": 16.4, "KAPE": 0.9565}
    assert judged["CodeBERT"] == {"right": 17.8, "KAPE": 0.9783}
    assert [round(by["KAPE"] * 23, 1) for by in judged.values()] == [22.0, 22.5]


def test_table_4_has_every_estimator_at_every_budget() -> None:
    assert PAPER.budgets == BUDGETS
    for estimates in PAPER.table4["PHP"].values():
        for name, facts in PAPER.table3.items():
            if name != "kape":
                assert len(estimates[name]) == (len(BUDGETS) if facts.uses_labels else 1), name


def test_tables_2_to_6_have_the_same_models_and_data_sets() -> None:
    cells = {f"{name}, {model}" for name in PAPER.sizes for model in TRAINED}
    assert len(cells) == 18
    assert set(TABLE_5) == cells
    assert {f"{name}, {model}" for name, by in PAPER.table6.items() for model in by} == cells
    columns = [f"{name}, {of}" for name in PAPER.sizes for of in ("dev MRR", "MRR")]
    for model, of in TRAINED.items():
        assert list(of) == columns, model
        assert all(0.4 < score < 0.9 for score in of.values()), model


def test_table_2_has_the_sizes_of_its_data_sets() -> None:
    assert set(PAPER.sizes) == {place.partition(", ")[0] for place in TABLE_5}
    assert all(train > valid and train > test for train, valid, test in PAPER.sizes.values())
    go = PAPER.used["Go"]["GraphCodeBERT"]
    assert sum(go.values()) == PAPER.sizes["Go"][2], "each test query of Go is counted"


def test_the_queries_of_go_have_the_mean_of_table_6() -> None:
    used, row = PAPER.used["Go"]["GraphCodeBERT"], PAPER.table6["Go"]["GraphCodeBERT"]
    mean = sum(number * queries for number, queries in used.items()) / sum(used.values())
    assert mean == pytest.approx(row.mean[-1], abs=0.005)
    assert min(used) == row.minimum[-1]
    for by_model in PAPER.table6.values():
        for each in by_model.values():
            assert list(each.mean) == sorted(each.mean)
            assert all(low <= mean for low, mean in zip(each.minimum, each.mean, strict=True))


def test_our_estimators_have_the_facts_of_table_3() -> None:
    assert set(PAPER.table3) <= set(estimators)
    for name, facts in PAPER.table3.items():
        estimator = estimators.get(name)
        assert (estimator.uses_labels, estimator.is_stable) == (facts.uses_labels, facts.is_stable)


def test_the_published_tables_are_whole() -> None:
    tables = paper_tables()
    assert len(tables) == 13
    assert sum(str(table.caption).startswith("KAPE, Table 8") for table in tables) == 1
    for table in tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.header)}
