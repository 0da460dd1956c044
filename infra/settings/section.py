"""The base of all sections of the settings."""

from pydantic import BaseModel, ConfigDict, field_validator

from infra.secrets import holds_a_secret


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
