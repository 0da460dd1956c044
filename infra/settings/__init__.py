"""Settings: a class per subsystem, bounds on every field, built once at the edge.

Where values come from, the last one winning: the defaults in ``sections``; the TOML file named by
``COSQA_CONFIG`` (default ``cosqa.toml``, optional); environment variables such as
``COSQA_LLM__MODEL``; options of the command line. A function receives the section it needs.
"""

import difflib
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
from pydantic_settings import (
    SettingsError as EnvironmentValueError,
)

from infra.errors import SettingsError
from infra.settings.section import Section
from infra.settings.sections import (
    CONFIGURATION_SUMMARIES,
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
    SourceSettings,
    StoreSettings,
)

__all__ = [
    "CONFIGURATION_SUMMARIES",
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


_PREFIX = "COSQA_"
_OTHER_VARIABLES = frozenset(  # read elsewhere: by this module, the set-up scripts and the tests
    {"COSQA_CONFIG", "COSQA_DATA", "COSQA_MODEL_CACHE", "COSQA_REQUIRE_DOCKER", "COSQA_SOAK"}
)


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True
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
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, _config_file())


def load_settings(overrides: Mapping[str, Mapping[str, object]] | None = None) -> Settings:
    """Return the settings from defaults, file, environment and ``overrides``, in rising order.

    Args:
        overrides: Section → field → value, as the command line gives them; a value of None means
            "not given" and lets the lower layers speak.

    Raises:
        SettingsError: A value is out of bounds, a key or a ``COSQA_*`` variable is unknown, or the
            settings file cannot be read; one line for each.
    """
    _refuse_unknown_variables()
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
    except EnvironmentValueError as error:
        raise SettingsError(
            f"{error}; lists are written as JSON, such as COSQA_SEARCH__ENCODERS='[\"minilm\"]'"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{_config_file()} is not valid TOML: {error}") from None


def _config_file() -> Path:
    """Return the settings file; one that is named must exist.

    Raises:
        SettingsError: The file that COSQA_CONFIG names is missing, or what is there is no file.
    """
    named = os.environ.get("COSQA_CONFIG", "")
    file = Path(named or "cosqa.toml")
    if file.is_file() or not (named or file.exists()):
        return file
    problem = "is not a file" if file.exists() else "does not exist"
    raise SettingsError(f"the settings file {file} {problem}; correct COSQA_CONFIG or unset it")


def _refuse_unknown_variables() -> None:
    """Refuse a misspelt ``COSQA_*`` variable: ignored, a budget would be none.

    Raises:
        SettingsError: There is one; the message names it and, if possible, the right one.
    """
    known = {f"{_PREFIX}{section}" for section in map(str.upper, Settings.model_fields)}
    unknown = [
        name
        for name in sorted(os.environ)
        if name.upper().startswith(_PREFIX)
        and name.upper() not in _OTHER_VARIABLES
        and name.upper().partition("__")[0] not in known
    ]
    if not unknown:
        return
    lines = [f"{name} is unknown{_suggestion(name.upper())}" for name in unknown]
    raise SettingsError("invalid environment variables:\n  " + "\n  ".join(lines))


def _suggestion(name: str) -> str:
    possible = [
        f"{_PREFIX}{section}__{key}".upper()
        for section, field in Settings.model_fields.items()
        for key in type(field.default).model_fields
    ]
    close = difflib.get_close_matches(name, [*possible, *_OTHER_VARIABLES], 1, 0.75)
    return f"; did you mean {close[0]}?" if close else "; `cosqa settings` lists all settings"
