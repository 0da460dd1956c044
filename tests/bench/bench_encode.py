"""How fast functions are embedded: batches by length against batches as they come.

    python -m tests.bench.bench_encode [--texts 512] [--rounds 3]

The rival is the usual way: the tokenizer pads each batch of 32 consecutive texts to its longest.
Both use the same model, tokens, threads and pooling, and their vectors must agree.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import torch

from infra.settings import SourceSettings
from tasks.encoders import Vectors, encoders
from tasks.encoders._transformer import TransformerEncoder
from tasks.sources import open_source
from tests.bench.measure import medians, print_table
from tests.tasks.sources.reading import read_whole

BATCH = 32


def functions(number: int) -> list[str]:
    """Return functions of the standard library, evenly drawn, in the order of their files."""
    codes = next(iter(read_whole(open_source(SourceSettings())).values())).codes
    return [code.text for code in codes[:: max(1, len(codes) // number)][:number]]


def as_they_come(encoder: TransformerEncoder, texts: Sequence[str]) -> Vectors:
    """Embed consecutive batches, padded by the tokenizer."""
    vectors = []
    for start in range(0, len(texts), BATCH):
        batch = encoder._tokenizer(
            list(texts[start : start + BATCH]), padding=True, truncation=True,
            max_length=encoder.spec.max_length, return_tensors="pt",
        )  # fmt: skip
        with torch.inference_mode():
            hidden = encoder._model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        pooled = (hidden * mask).sum(1) / mask.sum(1)
        vectors.append(torch.nn.functional.normalize(pooled, dim=1).numpy())
    return np.concatenate(vectors)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    texts = functions(options.texts)
    encoder = encoders.get("minilm")()
    assert isinstance(encoder, TransformerEncoder)
    ours, theirs = encoder.encode(texts, "code", BATCH), as_they_come(encoder, texts)
    assert np.abs(ours - theirs).max() < 1e-4, "the contenders must give the same vectors"
    seconds = medians(
        {
            "batches as they come": lambda: as_they_come(encoder, texts),
            "batches by length": lambda: encoder.encode(texts, "code", BATCH),
        },
        options.rounds,
    )
    title = f"all-MiniLM-L6-v2, {len(texts)} functions, {torch.get_num_threads()} threads"
    print_table(title, seconds, len(texts), "functions")


if __name__ == "__main__":
    main()
