"""How a committee is put together from settings."""

from collections.abc import Callable

from agents.arbiter import Arbiter
from agents.committee import Agents, Committee
from agents.embedded import adapted
from agents.endpoint import Endpoint
from agents.executor import Executor
from agents.fixer import Fixer
from agents.language_model import LanguageModel
from agents.replies import ReplyStore
from agents.screener import Screener
from agents.writer import Writer
from infra.errors import SettingsError
from infra.settings import Settings
from sandbox.base import Sandbox


def build_committee(
    settings: Settings,
    recipe_id: str,
    sandbox: Sandbox,
    distribution_for: Callable[[str], str],
    endpoint: Endpoint | None = None,
) -> Committee:
    """Return the committee that the settings describe.

    Args:
        settings: The model, the rounds of mending and the folder of replies.
        recipe_id: The digest of ``recipe_of`` for the same settings.
        sandbox: Where programs run; it stays the caller's to close.
        distribution_for: The distribution that provides a top-level module.
        endpoint: Address and key instead of the settings'; the embedded model needs it.

    Raises:
        SettingsError: The embedded model is asked for without its server.
    """
    model = build_model(settings, endpoint)
    agents = Agents(
        screener=Screener(model),
        writer=Writer(model),
        executor=Executor(),
        fixer=Fixer(model, distribution_for),
        arbiter=Arbiter(model),
    )
    return Committee(
        agents=agents,
        sandbox=sandbox,
        model=model,
        recipe_id=recipe_id,
        max_try_time=settings.annotation.max_try_time,
        demo=settings.llm.is_demo,
    )


def build_model(settings: Settings, endpoint: Endpoint | None = None) -> LanguageModel:
    """Return the language model that the settings describe.

    Args:
        settings: The model and the folder of replies.
        endpoint: Address and key instead of the settings'; the embedded model needs it.

    Raises:
        SettingsError: The embedded model is asked for without its server.
    """
    llm = adapted(settings.llm)
    if llm.is_demo and endpoint is None:
        raise SettingsError(f"{llm.model} needs the endpoint that agents.embedded serves it at")
    return LanguageModel(llm, ReplyStore(settings.store.replies), endpoint)
