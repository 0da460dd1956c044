import torch

from tasks.training.models._layers import (
    BidirectionalLstm,
    WeightedMean,
    attended,
    max_pooled,
)

VECTORS = torch.tensor([[[1.0, -2.0], [3.0, -4.0], [50.0, 60.0]]])
MASK = torch.tensor([[True, True, False]])


def test_the_weighted_mean_is_that_of_a_hand_computation() -> None:
    mean = WeightedMean(2)
    with torch.no_grad():
        mean.weigh.weight.copy_(torch.tensor([[0.5, 0.0]]))
        first, second = torch.sigmoid(torch.tensor([0.5, 1.5])).tolist()
        expected = torch.tensor([[first + 3 * second, -2 * first - 4 * second]]) / (first + second)
        torch.testing.assert_close(mean(VECTORS, MASK), expected)


def test_attention_is_the_softmax_of_the_scores_of_real_tokens() -> None:
    scores = torch.tensor([[0.0, 3.0, 99.0]]).log()
    torch.testing.assert_close(attended(VECTORS, scores, MASK), torch.tensor([[3.0, -4.0]]))
    scores = torch.tensor([[1.0, 3.0, 99.0]]).log()
    torch.testing.assert_close(attended(VECTORS, scores, MASK), torch.tensor([[2.5, -3.5]]))


def test_the_greatest_is_taken_among_real_tokens() -> None:
    assert max_pooled(VECTORS, MASK).tolist() == [[3.0, -2.0]]


def test_one_direction_of_the_lstm_begins_at_the_last_real_token() -> None:
    torch.manual_seed(1)
    lstm = BidirectionalLstm(2, 4, layers=2).eval()
    found = lstm(VECTORS, MASK)[:, :2]
    back, _ = lstm.back(VECTORS[:, :2].flip(1))
    forth, _ = lstm.forth(VECTORS[:, :2])
    torch.testing.assert_close(found, torch.cat([forth, back.flip(1)], 2))
