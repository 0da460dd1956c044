"""Functions a second and peak memory of collecting CodeSearchNet's files into the store.

Each row is one process: the product reads a made ``final/jsonl`` folder (or a pickle of
definitions) into a new store; beside it, plain ``gzip`` and ``json`` (or ``pickle``) read the same
file and keep nothing. 500 MB is the limit that collecting must stay under.

    python -m tests.bench.bench_collect --functions 100000
"""

import argparse
import gzip
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from infra.settings import SourceSettings, StoreSettings
from infra.store import corpus, open_database
from tasks.sources import open_source

LIMIT_MB = 500
_FORMATS = ("jsonl", "pickle")


def main() -> None:
    """Print a row for each format: functions a second, peak memory, and the plain reader's."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--functions", type=int, nargs="+", default=[100_000])
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "READER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        folder, reader = arguments.one
        print(json.dumps(_READERS[reader](Path(folder))))
        return
    print(f"{'format':8} {'functions':>10} {'a second':>9} {'peak MB':>8} {'of limit':>8}"
          f" {'plain a second':>15} {'plain MB':>9}")  # fmt: skip
    for number in arguments.functions:
        for name in _FORMATS:
            with tempfile.TemporaryDirectory() as folder:
                _write(Path(folder), name, number)
                ours, plain = _run(folder, "ours"), _run(folder, name)
            print(
                f"{name:8} {number:10,} {number / ours[0]:9,.0f} {ours[1]:8.0f} "
                f"{ours[1] / LIMIT_MB:8.2f} {number / plain[0]:15,.0f} {plain[1]:9.0f}"
            )


def _run(folder: str, reader: str) -> tuple[float, float]:
    words = [sys.executable, "-m", "tests.bench.bench_collect", "--one", folder, reader]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def _definitions(number: int) -> Iterator[dict[str, object]]:
    body = "\n".join(f"    value_{n} = items[{n}] + offset" for n in range(8))
    for n in range(number):
        text = (
            f'def function_{n}(items, offset):\n    """Return {n}."""\n{body}\n    return value_1'
        )
        nwo = f"owner/repository{n // 100}"
        yield {
            "nwo": nwo, "sha": f"{n // 100:040x}", "path": f"module{n // 10}.py",
            "language": "python", "identifier": f"function_{n}", "docstring": f"Return {n}.",
            "function": text, "function_tokens": text.split(),
            "url": f"https://github.com/{nwo}/blob/0/m.py#L{n}",
        }  # fmt: skip


def _write(folder: Path, name: str, number: int) -> None:
    if name == "pickle":
        with (folder / "python_dedupe_definitions_v2.pkl").open("wb") as file:
            pickle.dump(list(_definitions(number)), file, protocol=3)
        return
    split = folder / "python" / "final" / "jsonl" / "train"
    split.mkdir(parents=True)
    with gzip.open(split / "python_train_0.jsonl.gz", "wt", compresslevel=6) as file:
        for row in _definitions(number):
            line = {
                "repo": row["nwo"], "func_name": row["identifier"], "code": row["function"],
                "code_tokens": row["function_tokens"], "docstring": row["docstring"],
                "url": row["url"],
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")


def _timed(read: Callable[[Path], object]) -> Callable[[Path], tuple[float, float]]:
    def measured(folder: Path) -> tuple[float, float]:
        started = time.perf_counter()
        read(folder)
        seconds = time.perf_counter() - started
        status = Path("/proc/self/status").read_text("utf-8")  # getrusage knows the parent's peak
        return seconds, int(status.partition("VmHWM:")[2].split()[0]) / 1024

    return measured


def _ours(folder: Path) -> None:
    source = open_source(SourceSettings.model_validate({"name": "codesearchnet", "path": folder}))
    database = open_database(StoreSettings(folder=folder / "store"))
    corpus.replace_collections(database, "f", source.read(), "codesearchnet")


def _plain_jsonl(folder: Path) -> None:
    for file in folder.rglob("*.jsonl.gz"):
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            for line in stream:
                json.loads(line)


def _plain_pickle(folder: Path) -> None:
    with (folder / "python_dedupe_definitions_v2.pkl").open("rb") as file:
        pickle.load(file)


_READERS = {
    "ours": _timed(_ours),
    "jsonl": _timed(_plain_jsonl),
    "pickle": _timed(_plain_pickle),
}

if __name__ == "__main__":
    main()
