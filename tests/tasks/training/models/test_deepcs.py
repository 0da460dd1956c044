import torch

from tasks.training.models.deepcs import DeepCs

CODE = "def read_json(path):\n    with open(path) as file:\n        return json.load(file)\n"


def model() -> DeepCs:
    return DeepCs.of(["read json"], [CODE], DeepCs.recipe).eval()


def test_a_code_is_its_name_its_calls_and_its_words_without_keywords() -> None:
    made = model()
    features = made.features([CODE], "code")
    told = {
        field: [made.vocabularies[field].id_to_token(one) for one in features[field][0].tolist()]
        for field in features
    }
    assert told == {
        "name": ["read", "json"],
        "calls": ["open", "load"],
        "code": ["read", "json", "path", "open", "file", "load"],
    }


def test_the_bag_is_the_maximum_over_words_and_the_fusion_lies_within_tanh() -> None:
    made = model()
    with torch.no_grad():
        features = made.features([CODE], "code")
        pooled = made._pooled("code", features["code"])
        each = torch.tanh(made.bag(made.tables["code"](features["code"][0])))
        torch.testing.assert_close(pooled[0], torch.tanh(each.max(0).values))
        assert made(features, "code").abs().max() < 1
