"""CodeSearchNet's self-attention."""

from tasks.training.models import models
from tasks.training.models._codesearchnet import RECIPE, CodeSearchNetModel, SelfAttention


@models.register("self-attention")
class SelfAttentionModel(CodeSearchNetModel):
    """3 layers of a small BERT."""

    recipe = RECIPE.model_copy(update={"learning_rate": 5e-4, "batch_size": 450})
    table_dropout = 0.0  # BERT drops out behind its first norm

    def layers_for(self, length: int, /) -> list[SelfAttention]:
        """Return BERT's layers."""
        return [SelfAttention(3, length)]
