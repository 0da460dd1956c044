"""The encoder unixcoder: UniXcoder."""

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("unixcoder")
class UniXcoder(TransformerEncoder):
    """UniXcoder in encoder-only mode: a mode token in front, the mean of all tokens as the vector.

    Guo et al. 2022, section 3.1 (mode prefix) and 3.3 (mean pooling for code fragments).
    """

    spec = TransformerSpec(
        name="unixcoder",
        model="microsoft/unixcoder-base",
        revision="5604afdc964f6c53782a6813140ade5216b99006",
        licence="Apache-2.0",
        source="Guo et al. 2022, UniXcoder, ACL; the model's card",
        dimension=768,
        max_length=512,
        before=("<s>", "<encoder-only>", "</s>"),
        after=("</s>",),
        pooling="mean",
    )
