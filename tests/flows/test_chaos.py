"""Seeds of chaos, and the harness: its seeds repeat, its laws can be broken."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.settings import SandboxSettings
from tests.chaos.breaks import KINDS, Break, missing_here, schedule
from tests.chaos.harness import Harness
from tests.chaos.laws import replies_paid_once
from tests.chaos.one_seed import run_seed
from tests.chaos.services import Disk
from tests.sandbox.own_engine import own_engine, whats_missing


def test_a_seed_means_the_same_breaks_each_time_and_consecutive_ones_meet_every_kind() -> None:
    assert schedule(17) == schedule(17)
    assert {order.kind for seed in range(len(KINDS)) for order in schedule(seed)} == set(KINDS)


@pytest.mark.parametrize(("again", "may_be_lost"), [(0, 0), (3, 3)])
def test_requests_may_be_repeated_as_often_as_replies_could_be_lost(
    tmp_path: Path, again: int, may_be_lost: int
) -> None:
    calls = tmp_path / "calls.jsonl"
    calls.write_text(
        '{"role": "screener"}\n{"role": "arbiter"}\n' + '{"role": "arbiter"}\n' * again
    )
    assert replies_paid_once(calls, 2, may_be_lost) == (again, [])


@pytest.mark.parametrize(("asked", "requests"), [(["a", "a"], 1), (["a"], 2)])
def test_a_reply_that_is_paid_twice_or_never_asked_for_is_a_fault(
    tmp_path: Path, asked: list[str], requests: int
) -> None:
    calls = tmp_path / "calls.jsonl"
    calls.write_text("".join(f'{{"role": "{role}"}}\n' for role in asked))
    assert replies_paid_once(calls, requests, 0)[1]


@pytest.mark.skipif("disk" in missing_here(has_engine=False), reason="needs root")
def test_a_full_disk_takes_no_byte_until_there_is_room(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "disk", megabytes=1)
    disk.mount()
    try:
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            (disk.folder / "file").write_bytes(b"x")
        disk.empty()
        (disk.folder / "file").write_bytes(b"x")
    finally:
        disk.close()


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.usefixtures("engine")
def test_a_flow_that_is_killed_halfway_goes_on_where_it_was(
    tmp_path: Path, prefect_server: str
) -> None:
    harness = Harness(tmp_path, 50, prefect_url=prefect_server)
    harness.prepare()
    halfway = Break("flow", at_share=0.5, at_s=0, lasts_s=0)
    outcome = run_seed(harness, 0, [halfway])
    assert (outcome.faults, outcome.runs) == ([], 2)


@pytest.fixture(scope="module")
def harness() -> Iterator[Harness]:
    """Return a harness with an engine and a Prefect server of its own."""
    if missing := whats_missing():
        pytest.skip(missing)
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as engine_folder,
        own_engine(Path(engine_folder), SandboxSettings().image, 2_500) as own,
    ):
        made = Harness(Path(folder), 200, own)
        try:
            made.prepare()
            made.run_undisturbed()
            yield made
        finally:
            made.close()


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.parametrize("seed", [5, 9])
def test_whatever_breaks_the_laws_hold(harness: Harness, seed: int) -> None:
    missing = missing_here(has_engine=True)
    outcome = run_seed(harness, seed, [one for one in schedule(seed) if one.kind not in missing])
    assert outcome.faults == []
