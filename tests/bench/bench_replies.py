"""What keeping a model's replies costs: time to write and to find them, disk, and files.

    python -m tests.bench.bench_replies [--replies 740000] [--files 8000] [--in-flight 64]

Made-up replies of about 1 KB are kept durably by four processes at once, each with so many in
flight, then found in random order by another. The rival is the way before: a file for each reply,
written, moved into place and synced with its folder, on fewer replies since it is slow.
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from agents.llm.cache import RawReply
from infra.journal import Journal

PROCESSES = 4
FOUND = 20_000
_WORDS = [hashlib.md5(bytes([n])).hexdigest()[: 2 + n % 7] for n in range(256)]


class Kept(NamedTuple):
    """What one way takes for so many replies."""

    replies: int
    write_s: float
    find_us: float
    disk_mb: float
    files: int


def made_up_reply(number: int) -> RawReply:
    """Return a reply of about 1 KB, in the proportions of words of a text."""
    chance = random.Random(number)
    words = (_WORDS[int(256 * chance.random() ** 3)] for _ in range(170))
    text = json.dumps({"reason": " ".join(words), "verdict": "unclear"})
    return RawReply(text=text, prompt_tokens=1200, completion_tokens=180, cost_usd=1e-4)


def key_of(number: int) -> str:
    """Return the key of a made-up reply."""
    return hashlib.sha256(str(number).encode()).hexdigest()[:20]


def keep_in_journal(folder: Path, numbers: range, in_flight: int) -> None:
    """Keep replies in the journal, so many at once."""

    async def keep() -> None:
        journal, waiting = Journal(folder / "journal.sqlite"), iter(numbers)

        async def place() -> None:
            for number in waiting:
                content = made_up_reply(number).model_dump_json().encode()
                await asyncio.wrap_future(journal.keep(key_of(number), content))

        await asyncio.gather(*(place() for _ in range(in_flight)))

    asyncio.run(keep())


def keep_files(folder: Path, numbers: range, in_flight: int) -> None:
    """Keep replies as files, so many at once."""

    def keep(number: int) -> None:
        key = key_of(number)
        file = folder / key[:2] / f"{key[2:]}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(made_up_reply(number).model_dump_json().encode())
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(file)
        entries = os.open(file.parent, os.O_RDONLY)
        os.fsync(entries)
        os.close(entries)

    with ThreadPoolExecutor(min(in_flight, 32)) as threads:
        list(threads.map(keep, numbers))


def find_in_journal(folder: Path) -> Callable[[str], object]:
    """Return what finds a reply in the journal."""
    return Journal(folder / "journal.sqlite").find


def find_file(folder: Path) -> Callable[[str], object]:
    """Return what reads a reply's file."""
    return lambda key: (folder / key[:2] / f"{key[2:]}.json").read_bytes()


Way = tuple[Callable[[Path, range, int], None], Callable[[Path], Callable[[str], object]]]


def measured(folder: Path, way: Way, replies: int, in_flight: int) -> Kept:
    """Return what one way takes for so many replies."""
    keep, finder = way
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    started = time.perf_counter()
    shares = [range(first, replies, PROCESSES) for first in range(PROCESSES)]
    processes = [
        get_context("spawn").Process(target=keep, args=(folder, share, in_flight))
        for share in shares
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    write_s = time.perf_counter() - started
    find, chance = finder(folder), random.Random(0)
    wanted = [key_of(chance.randrange(replies)) for _ in range(min(FOUND, replies))]
    started = time.perf_counter()
    missing = [key for key in wanted if find(key) is None]
    find_s = time.perf_counter() - started
    if missing:
        raise SystemExit(f"{len(missing)} replies are lost, the first {missing[0]}")
    files = [file for file in folder.rglob("*") if file.is_file()]
    blocks = sum(file.stat().st_blocks for file in files)
    return Kept(replies, write_s, find_s / len(wanted) * 1e6, blocks * 512 / 1e6, len(files))


def main() -> None:
    """Measure both ways and print a table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replies", type=int, default=740_000)
    parser.add_argument("--files", type=int, default=8_000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    folder = options.folder / f"bench-replies-{os.getpid()}"
    table = Table(title=f"made-up replies of 1 KB, {PROCESSES} processes", title_justify="left")
    names = ("way", "replies", "seconds", "replies a second", "find, µs", "KB a reply", "files")
    for name in names:
        table.add_column(name, justify="left" if name == "way" else "right")
    try:
        for way, steps, replies in (
            ("the journal", (keep_in_journal, find_in_journal), options.replies),
            ("a file each", (keep_files, find_file), options.files),
        ):
            kept = measured(folder, steps, replies, options.in_flight)
            table.add_row(
                way, f"{kept.replies:,}", f"{kept.write_s:.1f}",
                f"{kept.replies / kept.write_s:,.0f}", f"{kept.find_us:.0f}",
                f"{kept.disk_mb * 1e3 / kept.replies:.2f}", f"{kept.files:,}",
            )  # fmt: skip
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    Console().print(table)


if __name__ == "__main__":
    main()
