"""The embedded model, which needs no key: SmolLM2-135M-Instruct, served in-process on loopback.

It shows that the pipeline works, not how well pairs are judged: its judgement is at chance, and all
labels by it are marked as a demo. ``python -m agents.llm.download_embedded`` fetches its file.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import SecretStr

from agents.llm.endpoint import Endpoint
from infra.errors import SettingsError
from infra.packages import model_folder
from infra.settings import LanguageModelSettings

MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL_BYTES = 98_362_432
MODEL_FILE = "smollm2-135m-instruct-q4_1.gguf"

_SLOTS = 4  # prompts at once
_SLOT_TOKENS = 2048  # more than the prompts and replies that `adapted` allows
_QUIET = -1
_LONGEST_CODE = 500  # characters
_LONGEST_FIELD = 48
_LONGEST_REPLY = 192  # tokens: full fields at one character a token, and the braces


def find_model_file() -> Path:
    """Return the model's file.

    Raises:
        SettingsError: It is missing or incomplete; the message has the line to type.
    """
    file = model_folder() / MODEL_FILE
    if not file.is_file() or file.stat().st_size != MODEL_BYTES:
        raise SettingsError(
            f"the embedded model's file {file} is missing or incomplete: fetch it with "
            "`python -m agents.llm.download_embedded`, or name another model in COSQA_LLM__MODEL"
        )
    return file


def adapted(settings: LanguageModelSettings) -> LanguageModelSettings:
    """Return the settings, with shorter prompts and replies for the embedded model."""
    if not settings.is_demo:
        return settings
    limits = {
        "max_code_characters": min(settings.max_code_characters, _LONGEST_CODE),
        "max_field_characters": min(
            settings.max_field_characters or _LONGEST_FIELD, _LONGEST_FIELD
        ),
        "max_tokens": min(settings.max_tokens, _LONGEST_REPLY),
    }
    return settings.model_copy(update=limits)


@contextmanager
def embedded_server(model_file: Path) -> Iterator[Endpoint]:
    """Serve the model, OpenAI-compatible, on a random loopback port with a random key.

    One server a machine is enough: it takes all cores but one and about 300 MB of memory.
    """
    import xllamacpp  # noqa: PLC0415 - 34 MB that only the demo needs

    key = secrets.token_urlsafe(24)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_file)
    parameters.n_ctx = _SLOTS * _SLOT_TOKENS
    parameters.n_parallel = _SLOTS
    threads = max(1, (os.cpu_count() or 1) - 1)
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [key]
    parameters.cache_ram_mib = 0  # prompts differ; by default it would grow to 8 GB
    parameters.verbosity = _QUIET
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    try:
        yield Endpoint(base_url=f"{server.listening_address}/v1", api_key=SecretStr(key))
    finally:
        del server  # its destructor stops it
