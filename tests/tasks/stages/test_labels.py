"""Laws of label sets: the majority of rounds, and written answers beside it.

Covers `tasks.stages.answers`, `flows.generate`, `flows.cli.pipeline`.
"""

from pathlib import Path

import pytest

from infra.records import Label
from infra.settings import PublishSettings
from infra.store import generated
from tasks.benchmarks import Benchmark, write_benchmark
from tasks.benchmarks.benchmark import GENERATED
from tasks.inputs.formats.export import read_benchmark
from tasks.stages.labels import labelled_benchmark, labels_of_agents
from tests.tasks.stages.generate.world import (
    CODES,
    QUERIES,
    ROUNDS,
    answer,
    judged_store,
    label,
    said,
)


def benchmark_of(folder: Path, rounds: int = 1, **settings: object) -> Benchmark:
    """Return the agents' benchmark of a store."""
    database, source = judged_store(folder, rounds)
    if rounds == 3:
        label(database, 0, 1, 0, ROUNDS[1])
        label(database, 1, 0, 1, ROUNDS[1], ROUNDS[2])
        label(database, 1, 1, None, ROUNDS[0])
        label(database, 1, 1, 1, ROUNDS[1])
        label(database, 2, 0, None, ROUNDS[0], ROUNDS[1], status="failed")
    answers = [answer(number, edited=number == 2) for number in range(3)]
    generated.add_answers(database, [(item, ()) for item in answers])
    for item in answers[1:]:
        generated.add_answers(database, [], said(item, confirmed=True))
    labels = labels_of_agents(database, source)
    assert labels is not None
    return labelled_benchmark(database, labels, PublishSettings.model_validate(settings))


def written(benchmark: Benchmark) -> list[Label]:
    return [item for item in benchmark.labels if item.origin.startswith(GENERATED)]


def test_a_label_is_what_most_rounds_say_and_a_pair_without_is_undecided_or_unfinished(
    tmp_path: Path,
) -> None:
    benchmark = benchmark_of(tmp_path, rounds=3, generated="none")
    found = {label.key: label.relevance for label in benchmark.labels}
    first, second = (code.code_id for code in CODES)
    assert found == {
        (QUERIES[0].query_id, first): 0,
        (QUERIES[0].query_id, second): 1,
        (QUERIES[1].query_id, first): 1,
        (QUERIES[2].query_id, second): 0,
    }
    [undecided] = benchmark.undecided
    assert (undecided.query_id, undecided.code_id) == (QUERIES[1].query_id, second)
    assert "1 say 1, 1 say 0, 1 say neither" in undecided.reason
    assert benchmark.failed == 1
    assert {item.origin for item in benchmark.labels} == {"agents:r1, majority of 3 rounds"}


def test_labels_without_the_support_that_is_exported_are_no_votes(tmp_path: Path) -> None:
    benchmark = benchmark_of(tmp_path, rounds=3, support=["valid_oracle"], generated="none")
    assert benchmark.labels == ()


@pytest.mark.parametrize(("which", "count"), [("none", 0), ("confirmed", 2), ("verified", 3)])
def test_written_answers_join_with_an_origin_of_their_own(
    tmp_path: Path, which: str, count: int
) -> None:
    benchmark = benchmark_of(tmp_path, generated=which)
    labels = written(benchmark)
    assert (len(labels), len(benchmark.labels), len(benchmark.codes)) == (
        count, 6 + count, 2 + count
    )  # fmt: skip
    assert {item.relevance for item in labels} <= {1.0}
    origins = {code.code_id: code.origin for code in benchmark.codes}
    assert all(origins[item.code_id] == item.origin for item in labels)
    if count == 2:
        assert {item.origin for item in labels} == {
            "generated:openai/scripted", "generated:openai/scripted, edited"
        }  # fmt: skip
    manifest = write_benchmark(benchmark, tmp_path / "out")
    assert manifest.counts.get("generated", 0) == count
    assert sorted(read_benchmark(tmp_path / "out").labels, key=lambda item: item.key) == sorted(
        benchmark.labels, key=lambda item: item.key
    )


def test_an_answer_that_is_a_judged_candidate_adds_no_second_label(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path)
    same = answer(1, code_id=CODES[0].code_id, code=CODES[0].text)
    generated.add_answers(database, [(same, ())])
    labels = labels_of_agents(database, source)
    assert labels is not None
    benchmark = labelled_benchmark(database, labels, PublishSettings(generated="verified"))
    assert (len(benchmark.labels), written(benchmark)) == (6, [])
