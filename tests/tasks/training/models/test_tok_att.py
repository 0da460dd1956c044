import torch

from tasks.training.models.tok_att import TokAtt


def test_vectors_are_those_of_a_hand_computation() -> None:
    model = TokAtt.of(["read json", "read"], ["readJson(path)", "read"], TokAtt.recipe).eval()
    with torch.no_grad():
        query = model.features(["read", "read json"], "query")
        outputs, (last, _) = model.lstms["query"](model.tables["query"](query["query"][1:]))
        torch.testing.assert_close(model(query, "query")[1], last[0, 0])
        torch.testing.assert_close(model(query, "query")[0], outputs[0, 0])
        code = model.features(["readJson path", "read"], "code")
        outputs, _ = model.lstms["code"](model.tables["code"](code["code"][:1]))
        scores = torch.tanh(model.dense(outputs[0])) @ model.attention.weight[0]
        expected = scores.softmax(0) @ outputs[0]
        torch.testing.assert_close(model(code, "code")[0], expected)
