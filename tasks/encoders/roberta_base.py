"""The encoder roberta-base: RoBERTa, which has seen no code."""

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("roberta-base")
class RoBERTa(TransformerEncoder):
    """RoBERTa of Liu et al. 2019, not fine-tuned; the first token."""

    spec = TransformerSpec(
        name="roberta-base",
        model="FacebookAI/roberta-base",
        revision="e2da8e2f811d1448a5b465c236feacd80ffbac7b",
        licence="MIT",
        source="Liu et al. 2019, RoBERTa, arXiv 1907.11692; the model's card",
        dimension=768,
        max_length=512,
        before=("<s>",),
        after=("</s>",),
        pooling="first",
    )
