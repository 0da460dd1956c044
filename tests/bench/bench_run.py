"""What the default run costs: `cosqa benchmark`, the product as it is, run twice.

    python -m tests.bench.bench_run [OPTIONS OF cosqa benchmark]

It runs in a temporary folder with this shell's environment, and prints the seconds of both
commands, and the most memory that the command's processes held at once (Ray's and Prefect's
included, Docker's boxes not): the sum of their proportional set sizes, in which shared pages count
once.
"""

import os
import sys
import tempfile
from pathlib import Path

from tests.bench.commands import COSQA, Watch


def main() -> None:
    """Measure and print."""
    options = sys.argv[1:]
    if {"-h", "--help"} & set(options):
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options += ["--store", str(folder / "store"), "--output", str(folder / "out")]
        watches = Watch(), Watch()
        runs = [watch.run([COSQA, "benchmark", *options], os.environ, folder) for watch in watches]
    print("through the product as it is: each command in a process of its own, twice")
    for which, watch, finished in zip(("first", "second"), watches, runs, strict=True):
        peak = watch.peak(finished.started, finished.ended)
        print(f"{which} run: {finished.seconds:,.0f} s, {peak / 1e9:.2f} GB at most")
    print(f"nothing was left to the second: {'Nothing was left to do' in runs[1].printed}")


if __name__ == "__main__":
    main()
