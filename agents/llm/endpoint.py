"""The address and the key of a model server."""

from pydantic import SecretStr

from infra.records import Record


class Endpoint(Record):
    """An OpenAI-compatible server and its key; travels to workers, prints without the key."""

    base_url: str
    api_key: SecretStr
