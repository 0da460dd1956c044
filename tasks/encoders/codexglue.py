"""The encoder codexglue: a RoBERTa fine-tuned by CodeXGLUE's loop, as KAPE's models are."""

from pathlib import Path

from infra.errors import EncoderError
from tasks.encoders import NOT_PUBLISHED, encoders, not_published
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("codexglue")
class CodeXGLUE(TransformerEncoder):
    """KAPE's RoBERTa, CodeBERT and GraphCodeBERT, as CodeXGLUE's NL-code-search-Adv reads them.

    The pooler's output, 256 tokens of queries and codes, words joined by blanks, ranked by inner
    products of vectors as they are. None is published; a checkpoint that the loop has saved is
    named by ``checkpoint:NAME=FOLDER?like=codexglue``.
    """

    spec = TransformerSpec(
        name="codexglue",
        model="a RoBERTa fine-tuned by CodeXGLUE's NL-code-search-Adv",
        revision=NOT_PUBLISHED,
        licence="MIT",
        source="Guo et al., KAPE; Lu et al. 2021, CodeXGLUE, and its code",
        dimension=768,
        similarity="product",
        max_length=256,
        before=("<s>",),
        after=("</s>",),
        pooling="pooler",
        white_space="collapsed",
    )

    def _own_folder(self) -> Path:
        raise EncoderError(not_published("codexglue"))
