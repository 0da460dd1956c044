"""The base of all sections of the settings."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, SecretStr, field_validator
from pydantic.json_schema import SkipJsonSchema

from infra.secrets import holds_a_secret


def clean_key(key: SecretStr | None) -> SecretStr | None:
    """Return a key without the white space around it, as a file's line end.

    Raises:
        ValueError: There are characters in it that no header takes.
    """
    text = key.get_secret_value().strip() if key else ""
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError(
            "a key has printable ASCII characters alone and no white space inside: copy it again"
        )
    return SecretStr(text) if key else key


# Neither in the form of a Prefect deployment nor in the parameters that Prefect stores.
Key = Annotated[SecretStr | None, AfterValidator(clean_key), SkipJsonSchema()]


def check_address(address: str | None) -> str | None:
    """Return the address of a server.

    Raises:
        ValueError: It does not begin with http:// or https://.
    """
    if address and not address.startswith(("http://", "https://")):
        raise ValueError(
            "an address begins with http:// or https://, such as http://127.0.0.1:8080/v1"
        )
    return address


Address = Annotated[str | None, AfterValidator(check_address)]


class Section(BaseModel):
    """Base of all sections: frozen, unknown keys refused, and so are numbers without an end.

    A limit of ``inf`` or ``nan`` would be none, in silence. What settings say is stored, printed
    and published, so that no address in them may hold a password.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _refuse_secrets(cls, value: object) -> object:
        if holds_a_secret(str(value)):
            raise ValueError(
                "an address must have no user, password or key in it, as it is stored and printed; "
                "a key is given as COSQA_LLM__API_KEY or COSQA_ENCODER__API_KEY"
            )
        return value
