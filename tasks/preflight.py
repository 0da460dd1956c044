"""What can be known to be wrong before hours of work: names, the model's key, the engine."""

from agents import check_model
from infra.settings import Settings, load_settings
from tasks.annotate import recipe_identity
from tasks.collect import open_source
from tasks.encoders import encoders
from tasks.evaluate import chosen_methods


def checked(settings: Settings | None, judging: bool = False) -> Settings:
    """Return the settings, read from file and environment when not given, once they make sense.

    Args:
        settings: What a flow was given.
        judging: Whether the flow will need a language model and boxes.

    Raises:
        UnknownNameError: There is no such source, encoder or retrieval method.
        SettingsError: The language model's name or key cannot be right.
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is not there.
    """
    settings = settings or load_settings()
    open_source(settings.source)
    for encoder in settings.search.encoders:
        encoders.get(encoder)
    chosen_methods(settings.evaluation, settings.search)
    if judging:
        check_model(settings.llm)
        recipe_identity(settings)
    return settings
