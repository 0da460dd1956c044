"""The embed stage in a process of its own, to be killed, with an encoder that counts its texts.

    python -m tests.fakes.embed_run FOLDER

embeds the made-up functions of the store in FOLDER, which it makes at its first run. Each text that
has been embedded is a line in FOLDER/embedded.txt, also those that a kill lost.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from prefect import flow

from infra.collected import Collected
from infra.errors import CosqaError
from infra.records import Code, Query, SourceInfo
from infra.settings import EncoderSettings, RaySettings, StoreSettings
from infra.store import corpus, open_database
from tasks.encoders import EncoderSpec, Kind, Vectors, encoders
from tasks.stages.embed import embed
from tests.fakes.ray_cluster import SlowLetters

CODES, BATCH, SHARD = 1_600, 100, 400  # a sixteenth of the texts is a batch
TEXTS = CODES + 1
ENCODER = "counting-letters"


@encoders.register(ENCODER)
class CountingLetters(SlowLetters):
    """Writes down the texts that it has embedded."""

    spec = EncoderSpec(
        name=ENCODER, model="none", revision="1", licence="MIT", source="here", dimension=26
    )
    log = Path("embedded.txt")

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        """Return what letters are counted, once that is written down."""
        rows = super().encode(texts, kind, batch_size)
        with self.log.open("a") as log:
            log.write("".join(f"{text!r}\n" for text in texts))
        return rows


@flow
def embed_made_up(folder: str) -> int:
    """Embed the store's functions."""
    database = open_database(StoreSettings(folder=Path(folder)))
    if not corpus.collections_of(database, "print"):
        info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
        codes = tuple(Code.of(f"def f{row}(x):\n    return x + {row}") for row in range(CODES))
        made = Collected(info=info, codes=codes, queries=(Query.of("add a number"),))
        corpus.replace_collections(database, "print", {"made": made}, "made")
    return embed(
        database,
        corpus.collections_of(database, "print"),
        ENCODER,
        EncoderSettings(shard_size=SHARD),
        RaySettings(cpus=2, object_store_mb=80),
    )


if __name__ == "__main__":
    CountingLetters.log = Path(sys.argv[1]).absolute() / "embedded.txt"
    try:
        embed_made_up(sys.argv[1])
    except CosqaError as error:
        sys.exit(f"refused: {error}")
