"""Laws of the journal: a change is whole or not made, and damage is never nothing."""

import os
import signal
import sqlite3
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest

from infra.errors import DiskFullError, UnrecordableError
from infra.journal import (
    Journal,
    Money,
    begin,
    connect,
    fault_of,
    keep_all,
    money,
    packed,
    snapshot,
)
from tests.fakes.journals import keep, pack
from tests.fakes.small_disk import small_disk

KEYS = [f"{number:020x}" for number in range(2_000)]

WRITER = """
import sys
from functools import partial
from pathlib import Path
from infra.journal import Journal, keep_all, money, packed
journal = Journal(Path(sys.argv[1]))
def change(tx, key):
    keep_all(tx, packed([(key, key.encode() * 20)]))
    with money(tx, "m") as spent:
        spent.usd += 1
for number in range(10**9):
    key = f"{sys.argv[2]}{number:018x}"
    journal.write(partial(change, key=key)).result()
    print(key, flush=True)
"""


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.sqlite")


def spend(journal: Journal, more_usd: float, model: str = "m", **numbers: float) -> None:
    def change(tx: sqlite3.Connection) -> None:
        with money(tx, model) as spent:
            spent.usd += more_usd
            vars(spent).update(numbers)

    journal.write(change).result()


def fill(journal: Journal) -> dict[str, bytes]:
    """Keep two thousand replies, and have the file without a log."""
    contents = {key: os.urandom(200) + key.encode() for key in KEYS}
    journal.write(partial(keep_all, contents=packed(contents.items()))).result()
    spend(journal, 5.0)
    journal.close()
    pack(journal.file)
    return contents


def count_replies(file: Path) -> int:
    with closing(connect(file)) as connection:
        [(kept,)] = connection.execute("SELECT count(*) FROM replies")
    return int(kept)


def test_processes_killed_while_they_write_leave_each_change_whole_or_not_made(
    journal: Journal,
) -> None:
    command = [sys.executable, "-c", WRITER, str(journal.file)]
    writers = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True)
        for name in ("aa", "bb")
    ]
    said: list[str] = []
    for writer in writers:
        assert writer.stdout is not None
        said += [writer.stdout.readline().strip() for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
        said += writer.stdout.read().split()[:-1]  # the last line may be half
        writer.wait()
        writer.stdout.close()
    assert len(said) >= 40
    assert [key for key in said if journal.find(key) != key.encode() * 20] == []
    kept = count_replies(journal.file)
    assert journal.spent("m").usd == kept >= len(said)
    spend(journal, 1.0)
    assert journal.spent("m").usd == kept + 1


def test_what_threads_change_at_once_is_found_and_the_last_content_of_a_key_counts(
    tmp_path: Path,
) -> None:
    """Also where they all make the file."""
    journals = [Journal(tmp_path / "new" / "journal.sqlite") for _ in range(8)]

    def change(place: int) -> None:
        keep(journals[place % 8], KEYS[place], KEYS[place].encode()).result()
        spend(journals[-place % 8], 1.0)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(change, range(200)))
    keep(journals[0], KEYS[0], b"again").result()
    found = [journals[1].find(key) for key in KEYS[:201]]
    assert found == [b"again", *(key.encode() for key in KEYS[1:200]), None]
    assert journals[2].spent("m").usd == 200.0


def test_changes_of_one_group_end_each_for_itself(journal: Journal) -> None:
    spend(journal, 1.0)
    is_held, may_go = Event(), Event()

    def hold(tx: sqlite3.Connection) -> None:
        is_held.set()
        assert may_go.wait(60)

    def half(tx: sqlite3.Connection) -> None:
        keep_all(tx, packed([("ab", b"half")]))
        raise KeyError("half")

    def wrong(tx: sqlite3.Connection) -> None:
        with money(tx, "m") as spent:
            spent.usd = -1.0

    held = journal.write(hold)
    assert is_held.wait(60)  # what follows is one group
    ends = [journal.write(change) for change in (half, wrong)] + [keep(journal, "cd", b"whole")]
    may_go.set()
    held.result()
    assert isinstance(ends[0].exception(), KeyError)
    assert isinstance(ends[1].exception(), UnrecordableError)
    ends[2].result()
    assert (journal.find("ab"), journal.find("cd")) == (None, b"whole")
    assert journal.spent("m").usd == 1.0


def test_what_a_change_hands_over_at_its_end_is_made_before_the_file_is_closed(
    journal: Journal,
) -> None:
    """As a reservation is given back whose request was cancelled meanwhile."""
    go_on = Event()
    first = journal.write(lambda _: go_on.wait(60))
    first.add_done_callback(lambda _: keep(journal, "02" * 16, b"given back"))
    closing_thread = Thread(target=journal.close)
    closing_thread.start()
    go_on.set()
    closing_thread.join(60)
    assert not journal.file.with_name(f"{journal.file.name}-wal").exists()
    assert Journal(journal.file).find("02" * 16) == b"given back"


def test_looking_makes_nothing(journal: Journal) -> None:
    assert (journal.find("ab"), journal.spent("m")) == (None, Money())
    journal.close()
    assert list(journal.file.parent.iterdir()) == []


def cut(content: bytes) -> bytes:
    return content[: len(content) * 2 // 3]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": cut,
    "one byte": lambda content: content[:1],
    "zeros": lambda content: bytes(len(content)),
    "garbage": lambda content: b"\xff" * 5_000,
    "a page in the middle": lambda content: content[:200_704] + b"\xff" * 4_096 + content[204_800:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_journal_is_an_error_with_the_way_out_and_stays_as_it_is(
    journal: Journal, damage: str
) -> None:
    fill(journal)
    whole = journal.file.read_bytes()
    journal.file.write_bytes(DAMAGES[damage](whole))
    damaged = journal.file.read_bytes()
    words = rf"{journal.file.name}.*damaged.*cosqa store restore.*move these\s+files away"
    for _ in range(2):
        with pytest.raises(UnrecordableError, match=words):
            Journal(journal.file).find("ff" * 10)  # before it is asked and paid for again
    assert fault_of(journal.file)
    assert journal.file.read_bytes() == damaged
    journal.file.write_bytes(whole)
    assert Journal(journal.file).find("ff" * 10) is None
    journal.file.unlink()
    for log in journal.file.parent.glob("journal.sqlite-*"):
        log.unlink()
    assert Journal(journal.file).spent("m") == Money(), "the way out that the message names"


def zero(journal: Journal, table: str) -> None:
    """Let a sector be zeros, in the last leaf of an index or a table."""
    with closing(sqlite3.connect(journal.file)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", [table]
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = journal.file.read_bytes()
    is_leaf = content[(root - 1) * size] in (10, 13)
    (leaf,) = (root,) if is_leaf else struct.unpack_from(">I", content, (root - 1) * size + 8)
    with journal.file.open("r+b") as stream:
        stream.seek(leaf * size - 512)
        stream.write(bytes(512))


@pytest.mark.parametrize("table", ["replies", "sqlite_autoindex_replies_1"])
def test_a_zeroed_sector_hides_no_reply_that_would_be_paid_again(
    journal: Journal, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    contents = fill(journal)
    zero(journal, table)
    again, ends = Journal(journal.file), Counter[str]()
    for key, content in contents.items():
        try:
            ends["found" if again.find(key) == content else "left out"] += 1
        except UnrecordableError:
            ends["refused"] += 1
    assert ends["found"] > 1_800
    assert ends["refused"] > 0
    assert ends["left out"] == caplog.text.count("it is left out") <= 1, "half of it is zeros"


def test_a_zeroed_sector_is_not_another_sum(journal: Journal) -> None:
    fill(journal)
    zero(journal, "spent")
    with pytest.raises(UnrecordableError, match="damaged"):
        Journal(journal.file).spent("m")
    with pytest.raises(UnrecordableError, match="damaged"):
        spend(Journal(journal.file), 1.0)


@pytest.mark.parametrize("change", ["usd = 0.0", "usd = 4.999", "tokens = 1", "model = 'n'"])
def test_a_sum_that_was_changed_otherwise_is_damage(journal: Journal, change: str) -> None:
    spend(journal, 5.0)
    with closing(connect(journal.file)) as connection:
        connection.execute(f"UPDATE spent SET {change}")
    model = "n" if "model" in change else "m"
    for ask in (journal.spent, lambda model: spend(journal, 1.0, model)):
        with pytest.raises(UnrecordableError, match=f"spent on {model} is not what was written"):
            ask(model)
    assert "is not what was written" in fault_of(journal.file)


def test_a_journal_that_is_gone_though_its_log_is_there_is_damage(journal: Journal) -> None:
    spend(journal, 5.0)
    journal.file.rename(journal.file.with_name("moved"))
    for ask in (Journal(journal.file).spent, partial(spend, Journal(journal.file), 1.0)):
        with pytest.raises(UnrecordableError, match=r"gone, but .*journal\.sqlite-wal is there"):
            ask("m")


def test_a_file_of_others_is_no_journal(journal: Journal) -> None:
    with closing(sqlite3.connect(journal.file)) as connection:
        connection.execute("CREATE TABLE replies (key, content)")
    with pytest.raises(UnrecordableError, match="no journal of this program"):
        journal.find("ab")


def test_a_sound_journal_is_checked_once(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(journal, "ab", b"content").result()
    checks: list[object] = []
    monkeypatch.setattr("infra.journal._check", checks.append)
    assert [journal.find(key) for key in ("ab", "cd", "ef")] == [b"content", None, None]
    assert len(checks) == 1


@pytest.mark.parametrize("content", ["x'789c00'", "'text'", "7"])
def test_a_content_that_is_damaged_is_absent_and_can_be_kept_again(
    journal: Journal, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    keep(journal, "ab", b"content").result()
    with closing(connect(journal.file)) as connection:
        connection.execute(f"UPDATE replies SET content = {content}")
    assert journal.find("ab") is None
    assert "damaged" in caplog.text
    keep(journal, "ab", b"again").result()
    assert journal.find("ab") == b"again"


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root only")
def test_on_a_full_disk_changes_fail_and_what_was_changed_stays(tmp_path: Path) -> None:
    for disk in small_disk(tmp_path / "disk", 1):
        journal, kept = Journal(disk / "journal.sqlite"), list[str]()

        def fill_up(journal: Journal, kept: list[str]) -> None:
            for key in KEYS:
                keep(journal, key, os.urandom(1_000)).result()
                kept.append(key)

        with pytest.raises(UnrecordableError, match="make room"):
            fill_up(journal, kept)
        assert kept
        assert all(Journal(journal.file).find(key) for key in kept)
        journal.close()


def test_a_process_that_hangs_with_the_lock_is_an_error_and_not_silence(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infra.journal._LOCK_TIMEOUT_S", 0.5)
    keep(journal, "ab", b"content").result()
    with closing(connect(journal.file)) as hanging:
        begin(hanging)
        with pytest.raises(UnrecordableError, match=r"locked by another process.*end that\s+proc"):
            keep(journal, "ac", b"more").result()
        assert journal.find("ab") == b"content"
    keep(journal, "ac", b"more").result()


def test_what_is_to_survive_a_loss_of_power_waits_for_the_disk(
    journal: Journal,
) -> None:
    for durable, synchronous in ((True, 2), (False, 1)):
        journal.write(lambda _: None, durable=durable).result()
        connection = journal._writer.opened(make=False)
        assert connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_snapshot_is_of_one_moment_and_ends_while_others_write(
    journal: Journal, tmp_path: Path
) -> None:
    keep(journal, "ff", os.urandom(5_000_000)).result()
    copying = Thread(target=snapshot, args=(journal.file, tmp_path / "copy" / "journal.sqlite"))
    command = [sys.executable, "-c", WRITER, str(journal.file), "aa"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        copying.start()
        copying.join(120)
        ended = not copying.is_alive()
        writer.kill()
        copying.join()
    assert ended
    copy = Journal(tmp_path / "copy" / "journal.sqlite")
    kept = count_replies(copy.file)
    assert copy.spent("m").usd == kept - 1
    assert fault_of(copy.file) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root only")
def test_a_snapshot_onto_a_full_disk_names_that_disk(journal: Journal, tmp_path: Path) -> None:
    keep(journal, "ab", os.urandom(2_000_000)).result()
    for disk in small_disk(tmp_path / "disk", 1):
        with pytest.raises(DiskFullError, match=str(disk)):
            snapshot(journal.file, disk / "copy.sqlite")


@pytest.mark.parametrize("damage", DAMAGES)
def test_there_is_no_snapshot_of_a_damaged_journal(
    journal: Journal, tmp_path: Path, damage: str
) -> None:
    fill(journal)
    journal.file.write_bytes(DAMAGES[damage](journal.file.read_bytes()))
    with pytest.raises(UnrecordableError, match=r"journal\.sqlite"):
        snapshot(journal.file, tmp_path / "copy.sqlite")


@pytest.mark.parametrize(
    "strange",
    [
        "CREATE TRIGGER t AFTER INSERT ON spent BEGIN DELETE FROM spent; END",
        "CREATE VIEW v AS WITH n(x) AS (SELECT 1 UNION ALL SELECT 2 FROM n) SELECT 1 FROM n",
        "CREATE TABLE more (x)",
        "CREATE INDEX more ON replies (abs(number))",
        "ALTER TABLE replies ADD COLUMN more DEFAULT (zeroblob(1000000000))",
        "DROP TABLE replies; CREATE VIEW replies AS SELECT 1",
        "CREATE VIRTUAL TABLE more USING fts5(x)",
    ],
)
def test_a_journal_with_more_or_other_than_our_tables_is_refused(
    journal: Journal, strange: str
) -> None:
    spend(journal, 1.0)
    journal.close()
    with closing(sqlite3.connect(journal.file)) as connection:
        connection.executescript(strange)
    before = journal.file.read_bytes()
    steps = (lambda: journal.spent("m"), lambda: journal.find("00"), lambda: spend(journal, 1.0))
    for refused in steps:
        with pytest.raises(UnrecordableError, match="no journal of this program: "):
            refused()
    assert "no journal of this program" in fault_of(journal.file)
    assert journal.file.read_bytes() == before


def test_a_journal_that_also_had_the_pace_of_requests_is_read(journal: Journal) -> None:
    spend(journal, 1.0)
    journal.close()
    with closing(sqlite3.connect(journal.file)) as connection:
        connection.execute("CREATE TABLE paces (account TEXT PRIMARY KEY, last_turn REAL)")
    assert journal.spent("m").usd == 1.0
    spend(journal, 1.0)


def test_a_content_without_end_is_absent(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("infra.journal._LARGEST", 1_000)
    for key, size in (("aa", 1_000), ("bb", 1_001)):
        keep(journal, key, b"0" * size).result()
    assert journal.find("aa") == b"0" * 1_000
    assert journal.find("bb") is None
    assert "bb" in caplog.text


@pytest.mark.parametrize("end", [".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite-journal"])
def test_nothing_is_written_where_a_link_leads(journal: Journal, tmp_path: Path, end: str) -> None:
    elsewhere = tmp_path / "elsewhere" / "file"
    elsewhere.parent.mkdir()
    journal.file.with_suffix(end).symlink_to(elsewhere)
    with pytest.raises(UnrecordableError, match="is a link"):
        spend(journal, 1.0)
    assert not elsewhere.exists()
    if end.startswith(".sqlite-"):
        journal.file.with_suffix(end).unlink()
        os.mkfifo(journal.file.with_suffix(end))  # SQLite would wait for who writes into it
        with pytest.raises(UnrecordableError, match="or no file"):
            spend(journal, 1.0)


def test_no_file_goes_that_a_strangers_rollback_journal_names(
    journal: Journal, tmp_path: Path
) -> None:
    spend(journal, 1.0)
    journal.close()
    Path(f"{journal.file}-wal").unlink(missing_ok=True)
    with closing(sqlite3.connect(journal.file)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
    victim = tmp_path / "victim"
    victim.write_text("of the user's")
    name, magic = str(victim).encode(), bytes.fromhex("d9d505f920a163d7")
    head = struct.pack(">8siiiii", magic, 0, 0, journal.file.stat().st_size // 4096, 512, 4096)
    end = struct.pack(">i", 4096 // 4096 + 2**18) + name  # the page of SQLite's locks
    undo = Path(f"{journal.file}-journal")
    content = head.ljust(512, b"\0") + end + struct.pack(">ii", len(name), sum(name)) + magic
    undo.write_bytes(content)
    for step in (lambda: spend(journal, 1.0), lambda: journal.spent("m")):
        with pytest.raises(UnrecordableError, match="names a file of others"):
            step()
    assert "names a file of others" in fault_of(journal.file)
    assert victim.exists()
    with closing(sqlite3.connect(journal.file)) as other:  # what SQLite itself makes of it
        other.execute("SELECT * FROM spent").fetchall()
    assert not victim.exists()


def test_a_journal_may_be_a_link(journal: Journal, tmp_path: Path) -> None:
    spend(journal, 1.0)
    journal.close()
    link = Journal(tmp_path / "link.sqlite")
    link.file.symlink_to(journal.file)
    spend(link, 1.0)
    assert link.spent("m").usd == 2.0
    link.close()


def test_a_pace_is_told_by_replies_in_their_order_without_the_pauses_between_runs(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "journal.sqlite")
    assert journal.reply_s(KEYS[:3]) is None
    for key in KEYS[:21]:
        keep(journal, key, b"x").result()
    moments = [4 * number + 86_400 * (number > 10) for number in range(20)]

    def date(tx: sqlite3.Connection) -> None:
        rows = [(at, bytes.fromhex(key)) for at, key in zip(moments, KEYS, strict=False)]
        tx.executemany("UPDATE replies SET kept_at = ? WHERE key = ?", rows)

    journal.write(date).result()
    assert journal.reply_s([*KEYS[:20], "ff" * 10]) == 4.0
    assert journal.reply_s(KEYS[:8]) is None, "too few"
    journal.close()
