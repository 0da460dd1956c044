"""What ``cosqa diff`` says of two recipes over the same 200 pairs of CoSQA, from end to end.

    COSQA_DATA=<folder with CoSQA's files> python -m tests.bench.bench_difference [--folder FOLDER]

The first 20 development queries with 10 candidates each are judged twice: by one model that reads
(configuration ``single``), and by all agents behind the gates (``gated``), whose test programs run
in Docker boxes. The model counts shared words (`tests.fakes.word_counter`); name a real one by
``COSQA_LLM__MODEL``. Each command is printed as it is run; a second run on the same folder finds
all labels there.
"""

import argparse
import os
import shlex
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.bench.commands import COSQA, OWN_SETTINGS
from tests.bench.measure import cosqa_data
from tests.fakes.llm_server import KEY
from tests.fakes.word_counter import WordCounter

CONFIGURATIONS = ("single", "gated")


def run(command: list[str], **environment: str) -> None:
    """Print a command and what it says.

    Raises:
        CalledProcessError: It failed.
    """
    words = [f"{name}={value}" for name, value in environment.items()]
    print("$", *words, "cosqa", shlex.join(command), flush=True)
    subprocess.run([COSQA, *command], env=OWN_SETTINGS | os.environ | environment, check=True)


def compare(data: str, folder: Path, queries: int, top_k: int) -> None:
    """Judge the same pairs under both configurations and print what turned."""
    source = ["--source", "cosqa", "--path", data, "--limit", str(queries), "--top-k", str(top_k)]
    store = ["--store", str(folder / "store")]
    for configuration in CONFIGURATIONS:
        output = ["--output", str(folder / configuration), "--method", "bm25"]
        run(
            ["benchmark", *source, *store, *output],
            COSQA_ANNOTATION__CONFIGURATION=configuration,
            COSQA_ANNOTATION__CANARIES="0",
        )
    versions = [str(folder / each / "cosqa-agents") for each in CONFIGURATIONS]
    methods = ["--method", "bm25", "--method", "tf-idf", "--metric", "NDCG@10", "--metric", "MAP"]
    run(["diff", *versions, *methods, *store, "--output", str(folder)])
    pages = (folder / "differences").glob("*/difference.md")
    print(max(pages, key=lambda page: page.stat().st_mtime_ns).read_text(encoding="utf-8"))


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--top-k", type=int, default=10)
    options = parser.parse_args()
    data = cosqa_data()
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if "COSQA_LLM__MODEL" not in os.environ:
            model = stack.enter_context(WordCounter())
            os.environ |= {
                "COSQA_LLM__MODEL": "openai/word-counter",
                "COSQA_LLM__BASE_URL": model.base_url,
                "COSQA_LLM__API_KEY": KEY,
            }
        compare(str(data), folder.resolve(), options.queries, options.top_k)


if __name__ == "__main__":
    main()
