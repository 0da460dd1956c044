"""Settings: a class per subsystem, bounds on every field, built once at the edge.

Where values come from, the last one winning: the defaults in ``sections``, ``annotation`` and
``models``; the preset, where one is chosen; the TOML file named by ``COSQA_CONFIG`` (default
``cosqa.toml``, optional); environment variables such as ``COSQA_LLM__MODEL``; options of the
command line. A function receives the section it needs.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from infra.errors import SettingsError
from infra.settings.annotation import (
    COMPARED_CONFIGURATIONS,
    CONFIGURATION_SUMMARIES,
    REASON_SUMMARIES,
    REASONS,
    AnnotationSettings,
    Configuration,
    Evidence,
    ReannotationSettings,
    Reason,
)
from infra.settings.models import (
    RECORDED_PREFIX,
    EmbeddingModelSettings,
    EncoderSettings,
    LanguageModelSettings,
    TrainingSettings,
)
from infra.settings.origins import (
    DELIMITER,
    PREFIX,
    EnvironmentSource,
    check_directions,
    check_sections,
    problem_line,
    read_toml,
    refuse_wrong_variables,
)
from infra.settings.presets import PresetSource
from infra.settings.section import Section
from infra.settings.sections import (
    EstimationSettings,
    EvaluationSettings,
    GateSettings,
    GenerationSettings,
    OperationSettings,
    PublishSettings,
    RaySettings,
    SandboxSettings,
    SearchSettings,
    SourceSettings,
    StoreSettings,
)

__all__ = [
    "COMPARED_CONFIGURATIONS",
    "CONFIGURATION_SUMMARIES",
    "REASONS",
    "REASON_SUMMARIES",
    "RECORDED_PREFIX",
    "AnnotationSettings",
    "CommitteeSettings",
    "Configuration",
    "EmbeddingModelSettings",
    "EncoderSettings",
    "EstimationSettings",
    "EvaluationSettings",
    "Evidence",
    "GateSettings",
    "GenerationSettings",
    "LanguageModelSettings",
    "OperationSettings",
    "PublishSettings",
    "RaySettings",
    "ReannotationSettings",
    "Reason",
    "SandboxSettings",
    "ScoringSettings",
    "SearchSettings",
    "Section",
    "Settings",
    "SourceSettings",
    "StoreSettings",
    "TrainingSettings",
    "load_settings",
]


@dataclass(frozen=True)
class CommitteeSettings:
    """The make-up of a committee; `agents.recipe_of` says which of it can change a label.

    Attributes:
        annotation: The configuration, and how many pairs are judged at once.
        llm: The model.
        gates: Checks that a test program must pass.
        sandbox: Where programs run.
    """

    annotation: AnnotationSettings
    llm: LanguageModelSettings
    gates: GateSettings
    sandbox: SandboxSettings


@dataclass(frozen=True)
class ScoringSettings:
    """The settings by which a method ranks a benchmark and is scored.

    Attributes:
        evaluation: The methods, the metrics and the depth of rankings.
        search: The encoders that are methods where none is named.
        encoder: How texts are embedded.
        ray: Where they are embedded.
        publish: The folder of rankings and reports.
    """

    evaluation: EvaluationSettings
    search: SearchSettings
    encoder: EncoderSettings
    ray: RaySettings
    publish: PublishSettings


class Settings(BaseSettings):
    """Everything that can be set: the name of a preset, and the sections."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter=DELIMITER, extra="forbid", frozen=True
    )

    preset: str | None = None
    store: StoreSettings = StoreSettings()
    source: SourceSettings = SourceSettings()
    search: SearchSettings = SearchSettings()
    encoder: EncoderSettings = EncoderSettings()
    llm: LanguageModelSettings = LanguageModelSettings()
    annotation: AnnotationSettings = AnnotationSettings()
    reannotation: ReannotationSettings = ReannotationSettings()
    gates: GateSettings = GateSettings()
    generation: GenerationSettings = GenerationSettings()
    sandbox: SandboxSettings = SandboxSettings()
    ray: RaySettings = RaySettings()
    publish: PublishSettings = PublishSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    estimation: EstimationSettings = EstimationSettings()
    training: TrainingSettings = TrainingSettings()
    operation: OperationSettings = OperationSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the layers, the highest first: command line, environment, TOML file, preset."""
        file, environment = _config_file(), EnvironmentSource(settings_cls)
        content = read_toml(file) if file.is_file() else {}
        check_sections(file, content, cls.sections())
        if content and not os.environ.get("COSQA_CONFIG"):
            given = (init_settings(), environment())
            check_directions(file, content, settings_cls.model_fields, *given)
        return (
            init_settings,
            environment,
            InitSettingsSource(settings_cls, content),
            PresetSource(settings_cls),
        )

    @property
    def committee(self) -> CommitteeSettings:
        """The sections that say how a pair is judged."""
        return CommitteeSettings(self.annotation, self.llm, self.gates, self.sandbox)

    @property
    def scoring(self) -> ScoringSettings:
        """The sections that say which methods rank, and where their scores go."""
        return ScoringSettings(self.evaluation, self.search, self.encoder, self.ray, self.publish)

    @classmethod
    def sections(cls) -> dict[str, type[Section]]:
        """Return section → its class, in their order."""
        return {
            name: type(field.default)
            for name, field in cls.model_fields.items()
            if isinstance(field.default, Section)
        }


def load_settings(
    overrides: Mapping[str, Mapping[str, object]] | None = None, preset: str | None = None
) -> Settings:
    """Return the settings: defaults, preset, file, environment and ``overrides``, in rising order.

    Args:
        overrides: Section → field → value, as the command line gives them; a value of None means
            "not given" and leaves it to the lower layers.
        preset: Name of a preset, "" for none; None leaves the choice to the file and to
            COSQA_PRESET.

    Raises:
        SettingsError: A value is out of bounds, a key or a ``COSQA_*`` variable is unknown or
            contradicts another, or the settings file cannot be read; one line for each.
    """
    known = [
        (section, key)
        for section, model in Settings.sections().items()
        for key in model.model_fields
    ]
    refuse_wrong_variables(known)
    given = {
        section: {key: value for key, value in fields.items() if value is not None}
        for section, fields in (overrides or {}).items()
    }
    if address := os.environ.get("RAY_ADDRESS", "").strip():
        given.setdefault("ray", {}).setdefault("address", address)
    try:
        chosen = {} if preset is None else {"preset": preset or None}
        return Settings(**given, **chosen)  # type: ignore[arg-type]
    except ValidationError as error:
        first = {problem["loc"][:2]: problem for problem in reversed(error.errors())}
        lines = [
            problem_line(problem, Settings, overrides or {}, _config_file())
            for problem in reversed(first.values())
        ]
        raise SettingsError("invalid settings:\n  " + "\n  ".join(lines)) from None


def _config_file() -> Path:
    """Return the settings file; one that is named must exist.

    Raises:
        SettingsError: The file that COSQA_CONFIG names is missing, or what is there is no file.
    """
    named = os.environ.get("COSQA_CONFIG", "").strip()
    file = Path(named or "cosqa.toml")
    if file.is_file() or not (named or file.exists()):
        return file
    problem = "is not a file" if file.exists() else "does not exist"
    way = "correct COSQA_CONFIG or unset it" if named else "move it away, or set COSQA_CONFIG"
    raise SettingsError(f"the settings file {file} {problem}; {way}")
