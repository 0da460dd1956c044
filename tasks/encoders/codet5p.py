"""The encoder codet5p: CodeT5+ 110M embedding."""

from typing import TYPE_CHECKING, Any

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec
from tasks.encoders._weights import load_model

if TYPE_CHECKING:
    import torch


@encoders.register("codet5p")
class CodeT5p(TransformerEncoder):
    """The encoder of CodeT5+ with a projection of the first token (Wang et al. 2023, section 3.2).

    The checkpoint brings Python code of its own for this; it is not run: a T5 encoder and one
    linear layer compute the same.
    """

    spec = TransformerSpec(
        name="codet5p",
        model="Salesforce/codet5p-110m-embedding",
        revision="d9f3a534af4252f04b10cd9f78e05037542d10f6",
        licence="BSD-3-Clause",
        source="Wang et al. 2023, CodeT5+, EMNLP; the model's card",
        dimension=256,
        max_length=512,
        before=("<s>",),
        after=("</s>",),
        pooling="first",
    )

    def _load_model(self, source: dict[str, Any]) -> Any:  # noqa: ANN401 - a torch module
        from torch import nn  # noqa: PLC0415 - heavy libraries load when used
        from transformers import T5Config, T5EncoderModel  # noqa: PLC0415

        class Embedding(T5EncoderModel):  # type: ignore[no-untyped-call]
            """A T5 encoder with the projection that the checkpoint calls ``proj``."""

            def __init__(self, config: T5Config) -> None:
                super().__init__(config)
                self.proj = nn.Linear(config.d_model, config.embed_dim)

        config = T5Config.from_pretrained(**source)
        return load_model(Embedding, source, config=config)

    def _pool(self, output: Any, mask: "torch.Tensor") -> "torch.Tensor":  # noqa: ANN401 - of transformers
        projected: torch.Tensor = self._model.proj(super()._pool(output, mask))
        return projected
