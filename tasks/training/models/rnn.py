"""CodeSearchNet's bidirectional RNN."""

from tasks.training.models import models
from tasks.training.models._codesearchnet import SIZE, CodeSearchNetModel
from tasks.training.models._layers import BidirectionalLstm


@models.register("rnn")
class Rnn(CodeSearchNetModel):
    """2 layers of 64 LSTM units in each direction, whose outputs keep 0.8."""

    def layers_for(self, _length: int, /) -> list[BidirectionalLstm]:
        """Return the LSTM."""
        return [BidirectionalLstm(SIZE, SIZE // 2, layers=2, dropout=0.2)]
