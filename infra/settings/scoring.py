"""The sections that say which retrieval methods rank, and where their rankings and scores go."""

from dataclasses import dataclass

from infra.settings.encoder import EncoderSettings
from infra.settings.sections import EvaluationSettings, PublishSettings, RaySettings, SearchSettings


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
