"""The encoder codebert-search: CodeBERT fine-tuned for code search, as CoSQA+ uses it."""

from pathlib import Path

from infra.errors import EncoderError
from tasks.encoders import NOT_PUBLISHED, encoders, not_published
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("codebert-search")
class CodeBERTSearch(TransformerEncoder):
    """CoSQA+'s CodeBERT, fine-tuned on CodeSearchNet; its checkpoint is not published.

    Queries of 128 tokens, codes of 256, white space collapsed, the pooler's output. A checkpoint
    made by CodeXGLUE's recipe is given as ``--checkpoint codebert-search=FOLDER``.
    """

    spec = TransformerSpec(
        name="codebert-search",
        model="microsoft/codebert-base fine-tuned on CodeSearchNet",
        revision=NOT_PUBLISHED,
        licence="MIT",
        source="Gong et al. 2024, CoSQA+, and its authors' code; Lu et al. 2021, CodeXGLUE",
        dimension=768,
        max_length=256,
        query_length=128,
        before=("<s>",),
        after=("</s>",),
        pooling="pooler",
        white_space="collapsed",
    )

    def _own_folder(self) -> Path:
        raise EncoderError(not_published("codebert-search"))
