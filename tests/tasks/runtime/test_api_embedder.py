"""Laws of embedding by an API, through the stage that stores vectors (`tasks.encoders._api` too).

Covers `tasks.encoders.text_embedding_3_large`.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from infra.errors import EncoderError
from infra.settings import EncoderSettings, StoreSettings
from tasks.encoders import encoders
from tasks.encoders._api import ApiSpec
from tasks.runtime.api_embedder import embed_batches_by_api
from tests.fakes.llm_server import KEY, ScriptedServer, embedding_of

TEXTS = [f"text {chr(97 + n % 26)} {n}" for n in range(30)]
CHILD = """
import json, sys
from infra.settings import EncoderSettings, StoreSettings
from tasks.runtime.api_embedder import embed_batches_by_api
url, folder, texts = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
settings = EncoderSettings(base_url=url, api_key="scripted-key", batch_size=3, actors=1)
batches = [("code", texts)]
list(embed_batches_by_api("api:openai/tiny", batches, settings, StoreSettings(folder=folder)))
"""


def embedded(server: ScriptedServer, folder: Path, encoder: str, texts: list[str]) -> np.ndarray:
    settings = EncoderSettings.model_validate(
        {"base_url": server.base_url, "api_key": KEY, "batch_size": 3, "actors": 1}
    )
    store = StoreSettings(folder=folder)
    ((number, vectors),) = embed_batches_by_api(encoder, [("code", texts)], settings, store)
    assert number == 0
    return vectors


def test_a_killed_run_goes_on_without_paying_twice(tmp_path: Path) -> None:
    with ScriptedServer([]) as server:
        server.embedding_steps = [{}] * 4 + [{"delay_s": 30}] + [{}]
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, server.base_url, str(tmp_path), json.dumps(TEXTS)]
        )
        while len(server.embedded) < 5:
            assert child.poll() is None
            time.sleep(0.05)
        child.kill()
        child.wait()
        vectors = embedded(server, tmp_path, "api:openai/tiny", TEXTS)
        asked = [text for call in server.embedded for text in call["input"]]
    assert len(asked) == len(TEXTS) + 3, "the request in flight is the only one that is repeated"
    rows = np.array([embedding_of(text, 8) for text in TEXTS])
    assert np.allclose(vectors, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-6)


def test_the_registered_one_is_asked_by_its_own_name_and_checked(tmp_path: Path) -> None:
    with ScriptedServer([]) as server:
        with pytest.raises(EncoderError, match="8 dimensions instead of 3072"):
            embedded(server, tmp_path, "text-embedding-3-large", ["x"])
        assert server.embedded[0]["model"] == "text-embedding-3-large"
        short = embedded(
            server, tmp_path, "api:short=openai/text-embedding-3-large?dimension=5", ["x"]
        )
        assert short.shape == (1, 5)
        assert server.embedded[1]["dimensions"] == 5


def test_a_reference_to_an_api_has_the_models_name_and_its_own_key() -> None:
    small = encoders.get("api:openai/text-embedding-3-small").spec
    assert isinstance(small, ApiSpec)
    assert (small.name, small.dimension, small.max_length) == ("text-embedding-3-small", 1536, 8191)
    names = ("text-embedding-3-small", "text-embedding-3-small?dimension=1536", "other?dimension=9")
    assert len({encoders.get(f"api:openai/{name}").spec.key for name in names}) == 3
    with pytest.raises(EncoderError, match="nobody is to ask it"):
        encoders.get("text-embedding-3-large")().encode(["x"], "code", 1)
