"""The base of all sections of the settings."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Base of all sections: frozen, unknown keys refused, and so are numbers without an end.

    A limit of ``inf`` or ``nan`` would be none, in silence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
