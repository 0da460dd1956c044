"""The encoder codebert-base: CodeBERT as it is published, not fine-tuned for search."""

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("codebert-base")
class CodeBERTBase(TransformerEncoder):
    """The bimodal RoBERTa of Feng et al. 2020; its sentence is the first token (section 3.2)."""

    spec = TransformerSpec(
        name="codebert-base",
        model="microsoft/codebert-base",
        revision="3b0952feddeffad0063f274080e3c23d75e7eb39",
        licence="MIT",
        source="Feng et al. 2020, CodeBERT, EMNLP Findings; the model's card",
        dimension=768,
        max_length=512,
        before=("<s>",),
        after=("</s>",),
        pooling="first",
    )
