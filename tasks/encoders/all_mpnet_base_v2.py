"""The encoder all-mpnet-base-v2: all-mpnet-base-v2."""

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("all-mpnet-base-v2")
class MPNet(TransformerEncoder):
    """A general sentence encoder of 109 million parameters, 384 tokens."""

    spec = TransformerSpec(
        name="all-mpnet-base-v2",
        model="sentence-transformers/all-mpnet-base-v2",
        revision="e8c3b32edf5434bc2275fc9bab85f82640a19130",
        licence="Apache-2.0",
        source="the model's card and its sentence-transformers files",
        dimension=768,
        max_length=384,
        before=("<s>",),
        after=("</s>",),
        pooling="mean",
    )
