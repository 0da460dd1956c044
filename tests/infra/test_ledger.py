"""Laws of ledgers: no sum is lost or counted twice where files are merged."""

import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

from infra.ledger import DamagedLedgerError, Ledger, Money, Pace, merge


def holding(file: Path, **numbers: float) -> Path:
    with Ledger(file, Money).opened() as money:
        vars(money).update(numbers)
    return file


def money_in(file: Path) -> dict[str, float]:
    with Ledger(file, Money).opened() as money:
        return {name: value for name, value in asdict(money).items() if value}


THEN = {"tokens": 50.0, "usd": 5.0, "max_request_usd": 0.5, "unpriced": 1.0, "change": 7.0}
NOW = {"tokens": 60.0, "usd": 4.0, "max_request_usd": 0.25, "change": 8.0}


@pytest.mark.parametrize("has_its_batches", [True, False])
def test_ledgers_of_one_store_keep_the_larger_numbers_and_those_of_two_are_added_up(
    tmp_path: Path, has_its_batches: bool
) -> None:
    change = (NOW if has_its_batches else THEN)["change"]
    now = holding(tmp_path / "now", **NOW)
    for is_same, expected in (
        (True, {"tokens": 60.0, "usd": 5.0}),
        (False, {"tokens": 110.0, "usd": 9.0}),
    ):
        copy = holding(tmp_path / f"copy {is_same}", **THEN)
        merge(now, copy, is_same=is_same, has_its_batches=has_its_batches)
        rest = {"max_request_usd": 0.5, "unpriced": 1.0, "change": change}
        assert money_in(copy) == expected | rest


@pytest.mark.parametrize("lost", [b"", b"damaged"])
def test_a_ledger_that_says_nothing_does_not_take_the_place_of_one_that_does(
    tmp_path: Path, lost: bytes
) -> None:
    now, copy = tmp_path / "now", holding(tmp_path / "copy", usd=50.0)
    now.write_bytes(lost)
    merge(now, copy, is_same=True, has_its_batches=True)
    assert money_in(copy) == {"usd": 50.0}
    copy.write_bytes(lost)
    merge(holding(tmp_path / "whole", usd=1.0), copy, is_same=True, has_its_batches=True)
    assert money_in(copy) == {"usd": 1.0}
    merge(now, absent := tmp_path / "absent", is_same=True, has_its_batches=True)
    assert absent.read_bytes() == lost, "that it is damaged is said by the next run"


def test_a_pace_is_merged_too(tmp_path: Path) -> None:
    files = [tmp_path / "now", tmp_path / "copy"]
    for file, turn in zip(files, (5.0, 9.0), strict=True):
        with Ledger(file, Pace).opened() as pace:
            pace.last_turn = turn
    merge(*files, is_same=False, has_its_batches=False)
    with Ledger(files[1], Pace).opened() as pace:
        assert pace.last_turn == 9.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -5.0])
@pytest.mark.parametrize("place", range(5))
def test_numbers_that_cannot_be_true_are_refused(tmp_path: Path, value: float, place: int) -> None:
    numbers = [2.0] * 6
    numbers[place] = value
    packed = struct.pack("<8s6d", b"cosqa-2\n", *numbers)
    (tmp_path / "file").write_bytes(packed + struct.pack("<I", zlib.crc32(packed)))
    with pytest.raises(DamagedLedgerError, match="cannot be true"):
        money_in(tmp_path / "file")


@pytest.mark.parametrize("kind", [Money, Pace])
@pytest.mark.parametrize("content", [b"", b"\0" * 64, b"cosqa-2\n"])
def test_a_ledger_that_was_emptied_is_damaged_not_new(
    tmp_path: Path, kind: type[Money], content: bytes
) -> None:
    file = holding(tmp_path / "sum", usd=50.0) if kind is Money else tmp_path / "pace"
    file.write_bytes(content)
    with pytest.raises(DamagedLedgerError, match=str(file)), Ledger(file, kind).opened():
        pass
    assert file.read_bytes() == content


def test_a_new_ledger_is_whole_also_if_its_first_use_fails(tmp_path: Path) -> None:
    file = tmp_path / "new" / "sum"
    with pytest.raises(ZeroDivisionError), Ledger(file, Money).opened():
        raise ZeroDivisionError
    assert money_in(file) == {}
    assert list(file.parent.iterdir()) == [file]


def test_many_that_make_a_ledger_at_once_lose_nothing(tmp_path: Path) -> None:
    def spend(_: int) -> None:
        with Ledger(tmp_path / "sum", Money).opened() as money:
            money.tokens += 1

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(spend, range(64)))
    assert money_in(tmp_path / "sum") == {"tokens": 64.0}
