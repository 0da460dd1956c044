"""The encoder multilingual-e5-large: multilingual-e5-large."""

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("multilingual-e5-large")
class MultilingualE5(TransformerEncoder):
    """A multilingual encoder of 560 million parameters, with the prefixes that it was trained with.

    CoSQA+'s authors pass no prefix that their code shows; the preset cosqa-plus-v2 has both, the
    other one as ``e5-without-prefixes``.
    """

    spec = TransformerSpec(
        name="multilingual-e5-large",
        model="intfloat/multilingual-e5-large",
        revision="ab10c1a7f42e74530fe7ae5be82e6d4f11a719eb",
        licence="MIT",
        source="Wang et al. 2024, Multilingual E5, arXiv 2402.05672; the model's card",
        dimension=1024,
        max_length=512,
        before=("<s>",),
        after=("</s>",),
        pooling="mean",
        query_prefix="query: ",
        code_prefix="passage: ",
    )
