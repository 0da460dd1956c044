"""Times of the pages of ``cosqa browse`` at full size, alone and beside a flow.

    python -m tests.bench.bench_browse [--scale 1] [--folder FOLDER] [--rounds 30]

Serves a made-up store (`tests.bench.made_up_store`: 412,080 judged pairs) by the real command and
asks for each page over HTTP, each time for another pair, query or place; first with nothing else
going on, then while another process commits into the store without a pause, so that copies of it
are taken, too. Prints median and worst of each page, and the server's own seconds of CPU, which
what else the machine does hardly changes; the limit is 100 ms. ``--folder`` keeps the store, and
takes one that is there.
"""

import contextlib
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import httpx
import psutil
from rich.console import Console
from rich.table import Table

from infra.settings import StoreSettings
from infra.store import Database, open_database, samples
from infra.store.samples import Sample, SampleItem
from tests.bench.commands import COSQA
from tests.bench.made_up_store import made_up, options_of
from tests.ports import free_port

LIMIT_MS = 100
_SAMPLE = 400
_METHODS = ("one", "other")
_EVALUATIONS = """
    INSERT INTO evaluations BY NAME SELECT 'b' AS benchmark_id, $m AS method, $m AS method_key,
        100 AS depth, 1.0 AS seconds
"""
_SCORES = """
    INSERT INTO scores BY NAME SELECT 'b' AS benchmark_id, $m AS method_key, 'nDCG@10' AS metric,
        query_id, hash(query_id || $m) % 1000 / 1000 AS value FROM queries
"""
_WRITER = """
import sys, time
from pathlib import Path
from infra.settings import StoreSettings
from infra.store import open_database
database = open_database(StoreSettings(folder=Path(sys.argv[1]), lock_timeout_s=120))
while True:
    with database.transaction() as tx:
        tx.execute("UPDATE annotations SET seconds = seconds + 0.001 WHERE rowid % 6000 = ?",
                   [int(time.time()) % 6000])
        time.sleep(0.2)  # others find the file locked for most of the time
    time.sleep(0.05)
"""


def prepare(database: Database) -> Sample:
    """Store scores of two methods and a sample of 400 pairs; return the sample."""
    with database.transaction() as tx:
        tx.execute("DELETE FROM scores; DELETE FROM evaluations")
        for method in _METHODS:
            for statement in (_EVALUATIONS, _SCORES):
                tx.execute(statement, {"m": method})
        keys = tx.rows("SELECT query_id, code_id FROM annotations LIMIT ?", [_SAMPLE])
    items = tuple(
        SampleItem(query_id=query, code_id=code, position=place)
        for place, (query, code) in enumerate(keys, start=1)
    )
    sample = Sample(collection="", items=items)
    samples.add_sample(database, sample)
    samples.assign(database, sample, "Ann")
    return sample


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[httpx.Client, psutil.Process]]:
    """Yield ``cosqa browse`` over a store, and a client of it."""
    port = free_port()
    command = [COSQA, "browse", "--store", str(folder), "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as process,
        httpx.Client(base_url=address, trust_env=False, timeout=600, headers={"Origin": address})
        as client,
    ):  # fmt: skip
        try:
            assert process.stdout
            print(process.stdout.readline().decode().strip())
            while True:
                with contextlib.suppress(httpx.ConnectError):
                    client.get("/methods")
                    break
                time.sleep(0.1)
            yield client, psutil.Process(process.pid)
        finally:
            process.kill()


def addresses(client: httpx.Client, sample: Sample) -> dict[str, Callable[[int], str]]:
    """Return page → its address in a round."""
    pages = [client.get(f"/pairs?after={n}.0,{n}").text for n in (0, 5_000, 200_000)]
    pairs = [unescape(link) for page in pages for link in re.findall(r'"(/pair\?[^"]+)"', page)]
    queries = [unescape(link) for page in pages for link in re.findall(r'"(/query\?[^"]+)"', page)]
    method = "/method?benchmark=b&metric=nDCG%4010&method=one"
    return {
        "all pairs": lambda n: "/pairs",
        "a later page": lambda n: f"/pairs?after={n * 10_007}.0,{n * 10_007}",
        "by status and label": lambda n: f"/pairs?status=labelled&label={n % 2}",
        "slowest first": lambda n: "/pairs?sort=slowest",
        "by text of the query": lambda n: f"/pairs?query=python+{'abcdefghij'[n % 10]}",
        "by text of the code": lambda n: "/pairs?code=_12",
        "a pair": lambda n: pairs[n % len(pairs)],
        "a query with its candidates": lambda n: queries[n % len(queries)],
        "a method": lambda n: method,
        "two methods": lambda n: f"{method}&other=other",
        "samples": lambda n: "/label",
        "an item to label": lambda n: (
            f"/item?sample={sample.sample_id}&position={n % len(sample.items) + 1}"
        ),
    }


def begin(client: httpx.Client, sample: Sample) -> None:
    """Say in this browser who labels, after the pages that a blind annotator may not see."""
    page = client.get(f"/sample?sample={sample.sample_id}").text
    token = re.search(r'name="csrf" value="(\w+)"', page)
    assert token, page
    form = {"csrf": token[1], "sample": sample.sample_id, "annotator": "Ann"}
    assert client.post("/begin", data=form).status_code == 303


def measured(
    client: httpx.Client, server: psutil.Process, sample: Sample, rounds: int
) -> dict[str, tuple[list[float], float]]:
    """Return page → milliseconds of each answer, and of the server's CPU for one."""
    found: dict[str, tuple[list[float], float]] = {}
    told = addresses(client, sample)
    while client.get("/pairs?code=_12").headers.get("refresh"):
        time.sleep(0.1)
    for page, address_of in told.items():
        if page == "an item to label":
            begin(client, sample)
        times: list[float] = []
        before = sum(server.cpu_times()[:2])
        for turn in range(rounds):
            started = time.perf_counter()
            answer = client.get(address_of(turn))
            times.append(1000 * (time.perf_counter() - started))
            assert answer.status_code == 200, (page, answer.text)
        found[page] = times, 1000 * (sum(server.cpu_times()[:2]) - before) / rounds
    client.post("/leave", data={})
    client.cookies.clear()
    return found


def main() -> None:
    """Make or take the store, ask for the pages, and print a row for each."""
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    with made_up(options.folder, options.scale) as settings:
        _measure(settings.store, options.rounds)


def _measure(settings: StoreSettings, rounds: int) -> None:
    sample = prepare(open_database(settings))
    with served(settings.folder) as (client, server):
        alone = measured(client, server, sample, rounds)
    with served(settings.folder) as (client, server):
        command = [sys.executable, "-c", _WRITER, str(settings.folder)]
        with subprocess.Popen(command) as writer:
            try:
                beside = measured(client, server, sample, rounds)
                assert writer.poll() is None, "the writer has failed"
            finally:
                writer.kill()
    table = Table(title=f"milliseconds a page, limit {LIMIT_MS}", title_justify="left")
    table.add_column("page")
    for column in ("alone", "worst", "CPU", "beside a writer", "worst"):
        table.add_column(column, justify="right")
    for page, (times, cpu) in alone.items():
        others, _ = beside[page]
        cells = [statistics.median(times), max(times), cpu, statistics.median(others), max(others)]
        table.add_row(page, *(f"{cell:.0f}" for cell in cells))
    Console().print(table)


if __name__ == "__main__":
    main()
