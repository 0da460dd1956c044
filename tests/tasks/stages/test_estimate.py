"""Laws of the training pairs and queries of an estimate.

Covers `tasks.stages.estimate`.
"""

from pathlib import Path

from tasks.stages.estimate import EstimationInput
from tests.flows.estimation import pairs_file, write_lines


def test_queries_that_are_training_queries_are_told(tmp_path: Path) -> None:
    training = [("Add  a B", "a + b"), ("sort a list", "sorted(x)"), ("add a b", "sum(a, b)")]
    asked = write_lines(tmp_path / "asked.jsonl", [{"query": "add a b"}, {"query": "read a file"}])
    found = EstimationInput(pairs_file(tmp_path / "train.jsonl", training), asked)
    pool, common = found.notes
    assert "a search among 2 codes" in pool
    assert common.startswith("Of 2 queries 1 are training queries, too: ")
    assert "estimates are too high" in common
