"""The encoder graphcodebert: GraphCodeBERT, read as a RoBERTa."""

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("graphcodebert")
class GraphCodeBERT(TransformerEncoder):
    """GraphCodeBERT without its data flow, as CodeXGLUE's loop reads it; the first token."""

    spec = TransformerSpec(
        name="graphcodebert",
        model="microsoft/graphcodebert-base",
        revision="2b0488a7bb0eefc7041f1bb2cad1ab26b0da269d",
        licence="MIT",
        source="Guo et al. 2021, GraphCodeBERT, ICLR; the model's card",
        dimension=768,
        max_length=512,
        before=("<s>",),
        after=("</s>",),
        pooling="first",
    )
