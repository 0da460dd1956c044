"""Settings: a class per subsystem, bounds on every field, built once at the edge.

Where values come from, the last one winning: the defaults in ``sections``; the TOML file named by
``COSQA_CONFIG`` (default ``cosqa.toml``, optional); environment variables such as
``COSQA_LLM__MODEL``; options of the command line. A function receives the section it needs.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from infra.errors import SettingsError
from infra.settings.sections import (
    EMBEDDED_MODEL,
    AnnotationSettings,
    Configuration,
    EncoderSettings,
    EvaluationSettings,
    GateSettings,
    LanguageModelSettings,
    PublishSettings,
    RaySettings,
    SandboxSettings,
    SearchSettings,
    Section,
    SourceSettings,
    StoreSettings,
)

__all__ = [
    "EMBEDDED_MODEL",
    "AnnotationSettings",
    "Configuration",
    "EncoderSettings",
    "EvaluationSettings",
    "GateSettings",
    "LanguageModelSettings",
    "PublishSettings",
    "RaySettings",
    "SandboxSettings",
    "SearchSettings",
    "Section",
    "Settings",
    "SourceSettings",
    "StoreSettings",
    "load_settings",
]


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix="COSQA_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    store: StoreSettings = StoreSettings()
    source: SourceSettings = SourceSettings()
    search: SearchSettings = SearchSettings()
    encoder: EncoderSettings = EncoderSettings()
    llm: LanguageModelSettings = LanguageModelSettings()
    annotation: AnnotationSettings = AnnotationSettings()
    gates: GateSettings = GateSettings()
    sandbox: SandboxSettings = SandboxSettings()
    ray: RaySettings = RaySettings()
    publish: PublishSettings = PublishSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the TOML file below the environment and the environment below the command line."""
        file = Path(os.environ.get("COSQA_CONFIG", "cosqa.toml"))
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, file)


def load_settings(overrides: Mapping[str, Mapping[str, object]] | None = None) -> Settings:
    """Return the settings from defaults, file, environment and ``overrides``, in rising order.

    Args:
        overrides: Section → field → value, as the command line gives them; a value of None means
            "not given" and lets the lower layers speak.

    Raises:
        SettingsError: A value is out of bounds or a key is unknown; one line for each.
    """
    given = {
        section: {key: value for key, value in fields.items() if value is not None}
        for section, fields in (overrides or {}).items()
    }
    if "RAY_ADDRESS" in os.environ:
        given.setdefault("ray", {}).setdefault("address", os.environ["RAY_ADDRESS"])
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        lines = [
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
            for problem in error.errors()
        ]
        raise SettingsError("invalid settings:\n  " + "\n  ".join(lines)) from None
    except tomllib.TOMLDecodeError as error:
        file = os.environ.get("COSQA_CONFIG", "cosqa.toml")
        raise SettingsError(f"{file} is not valid TOML: {error}") from None
