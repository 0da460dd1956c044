"""The encoder all-minilm-l12-v2: all-MiniLM-L12-v2."""

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("all-minilm-l12-v2")
class MiniLML12(TransformerEncoder):
    """A general sentence encoder of 33 million parameters, 128 tokens."""

    spec = TransformerSpec(
        name="all-minilm-l12-v2",
        model="sentence-transformers/all-MiniLM-L12-v2",
        revision="364dd28d28dcd3359b537f3cf1f5348ba679da62",
        licence="Apache-2.0",
        source="the model's card and its sentence-transformers files",
        dimension=384,
        max_length=128,
        before=("[CLS]",),
        after=("[SEP]",),
        pooling="mean",
    )
