"""A form: the questions to the person who starts a run, and what the answers mean."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import MinLen
from pydantic import Field, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema
from pydantic_core.core_schema import CoreSchema, with_default_schema

from infra.settings import Settings, load_settings

# As values, since the types of a form are made of names that are known when it runs.
_LIST: Any = list
_LITERAL: Any = Literal
_UNSEEN: Any = SkipJsonSchema
_NOTHING: Any = _UNSEEN[None]
_PRESET = "preset"


class _Optional:
    """Marks what need not be answered, without a default in the schema.

    The UI would send one of null for each empty field, and the server would refuse it.
    """

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return with_default_schema(handler(source), default_factory=lambda: None)


@dataclass(frozen=True)
class FormField:
    """One question of a form.

    Attributes:
        name: The parameter's name.
        title: What the form calls it.
        description: What the form says below it.
        type: What an answer may be.
        setting: The setting that it sets, as ``section.key``; empty for an argument of the flow.
        required: Whether a run needs it.
        examples: What an answer may look like.
    """

    name: str
    title: str
    description: str
    type: Any = str
    setting: str = ""
    required: bool = False
    examples: tuple[object, ...] = ()

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter of a flow that asks the question; one that is not required may be None."""
        told = Field(
            description=self.description,
            json_schema_extra={"title": self.title} | self._examples,
        )
        # The schema does not say "or null": the UI would first ask which of both is meant.
        annotation = self.type if self.required else Annotated[self.type | _NOTHING, _Optional()]
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.name, keyword, default=told, annotation=annotation)

    @property
    def _examples(self) -> dict[str, Any]:
        return {"examples": list(self.examples)} if self.examples else {}


def setting_field(
    name: str,
    setting: str,
    title: str,
    *,
    description: str = "",
    choices: tuple[str, ...] = (),
    examples: tuple[object, ...] = (),
) -> FormField:
    """Return a question about a setting, with the setting's type, bounds and description.

    Args:
        name: The parameter's name.
        setting: The setting, as ``section.key``.
        title: What the form calls it.
        description: What the form says below it; the setting's own description if empty.
        choices: The only answers; empty takes those of the setting's type.
        examples: What an answer may look like.
    """
    section, _, key = setting.partition(".")
    field = Settings.sections()[section].model_fields[key]
    return FormField(
        name=name,
        title=title,
        description=f"{description or field.description}{_if_empty(field)}",
        type=_asked_type(field, choices),
        setting=setting,
        examples=examples,
    )


def _if_empty(field: FieldInfo) -> str:
    """Return what an empty answer means, "" where the setting has no default in words."""
    default = field.default
    if isinstance(default, tuple):
        default = ", ".join(default)
    told = default if isinstance(default, str | Path | int | float) else ""
    if told is False or not f"{told}":
        return ""
    return f" If empty: as in the environment or cosqa.toml, else {told}."


def choice_of(names: tuple[str, ...]) -> Any:  # noqa: ANN401 - a type
    """Return the type of one of several names."""
    return _LITERAL[names]


def _asked_type(field: FieldInfo, choices: tuple[str, ...]) -> Any:  # noqa: ANN401 - a type
    """Return a setting's type as a form has it: a list for several, text for a path, no None.

    A list may be empty, which leaves it to the settings file, whatever the setting demands.
    """
    parts = get_args(field.annotation)
    kind: Any = parts[0] if type(None) in parts else field.annotation
    if get_origin(kind) is tuple:
        kind = _LIST[choice_of(choices) if choices else get_args(kind)[0]]
    elif choices:
        kind = choice_of(choices)
    elif kind is Path:
        kind = str
    bounds = [bound for bound in field.metadata if not isinstance(bound, MinLen)]
    return Annotated[kind, *bounds] if bounds else kind


@dataclass(frozen=True)
class Form:
    """The questions of a deployment's form, in their order."""

    fields: tuple[FormField, ...]

    @property
    def asked(self) -> inspect.Signature:
        """The signature of which Prefect makes the schema of the form."""
        return inspect.Signature([field.parameter for field in self.fields])

    @property
    def signature(self) -> inspect.Signature:
        """The signature by which a flow that asks these questions is called."""
        missing = {True: inspect.Parameter.empty, False: None}
        return inspect.Signature(
            [field.parameter.replace(default=missing[field.required]) for field in self.fields]
        )

    def settings(self, answers: Mapping[str, object]) -> Settings:
        """Return the settings with a form's answers over those of file and environment.

        Raises:
            SettingsError: An answer contradicts another setting.
        """
        given = _given(answers)
        overrides: dict[str, dict[str, object]] = {}
        for field in self.fields:
            if field.setting and field.name in given:
                section, _, key = field.setting.partition(".")
                overrides.setdefault(section, {})[key] = given[field.name]
        preset = given.get(_PRESET)
        return load_settings(overrides, preset if isinstance(preset, str) else None)

    def arguments(self, answers: Mapping[str, object]) -> dict[str, Any]:
        """Return the answers that are no settings: the flow's own arguments."""
        given = _given(answers)
        own = [field.name for field in self.fields if not field.setting and field.name != _PRESET]
        return {name: given[name] for name in own if name in given}


def _given(answers: Mapping[str, object]) -> dict[str, object]:
    """Return the answers that say something: a form that was cleared holds empty ones."""
    return {name: value for name, value in answers.items() if value not in (None, "", [])}
