"""Laws of references: what was read of files stays where it was read."""

import pickle
from pathlib import Path

import pytest

from infra.identity import BenchmarkId
from infra.settings import TrainingSettings
from infra.store.benchmarks import Published
from tasks.runtime.references import FileReference
from tasks.stages.estimate import EstimationInput
from tasks.stages.scoring import OpenBenchmark, Run
from tasks.stages.standing import OpenRuns
from tasks.stages.study.kape import StudyData
from tasks.stages.train import TrainingInput

FILE = Path("/there")
PUBLISHED = Published(
    benchmark_id=BenchmarkId("b"), name="n", collection="", label_origin="", folder="f"
)


@pytest.mark.parametrize(
    ("reference", "content"),
    [
        (OpenBenchmark(PUBLISHED, FILE), "content"),
        (OpenRuns([Run(method="m", file=FILE)]), "rankings"),
        (EstimationInput(FILE, FILE), "training"),
        (StudyData("name", FILE), "test"),
        (TrainingInput(FILE, None, TrainingSettings()), "data"),
    ],
)
def test_a_worker_is_sent_what_names_the_files_alone(
    reference: FileReference, content: str
) -> None:
    setattr(reference, content, ["read"] * 1_000)
    sent = pickle.dumps(reference)
    assert len(sent) < 1_500
    received = pickle.loads(sent)
    assert received == reference
    assert content not in vars(received)
