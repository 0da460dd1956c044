"""The sections that say how a pair is judged, without those that say which pairs and when."""

from dataclasses import dataclass

from infra.settings.annotation import AnnotationSettings
from infra.settings.sandbox import SandboxSettings
from infra.settings.sections import GateSettings, LanguageModelSettings


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
