"""How a committee is put together from settings."""

from collections.abc import Callable

from agents.arbiter import Arbiter
from agents.committee import Agents, Committee
from agents.configurations import PLANS
from agents.embedded import adapted
from agents.endpoint import Endpoint
from agents.executor import Executor
from agents.fixer import Fixer
from agents.gates import Gatekeeper
from agents.laboratory import Laboratory
from agents.language_model import LanguageModel, Model
from agents.ledger import Ledger
from agents.replies import ReplyStore
from agents.screener import Screener
from agents.simulator import Simulator
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
    return assembled(
        settings, recipe_id, sandbox, distribution_for, build_model(settings, endpoint)
    )


def assembled(
    settings: Settings,
    recipe_id: str,
    sandbox: Sandbox,
    distribution_for: Callable[[str], str],
    model: Model,
) -> Committee:
    """Return the committee that the settings describe around any model; see `build_committee`."""
    plan = PLANS[settings.annotation.configuration]
    writer = Writer(model)
    laboratory = Laboratory(
        sandbox=sandbox,
        writer=writer,
        executor=Executor(),
        fixer=Fixer(model, distribution_for),
        max_try_time=settings.annotation.max_try_time if plan.mends else 0,
        gatekeeper=Gatekeeper(settings.gates) if plan.gated else None,
    )
    agents = Agents(
        screener=Screener(model),
        writer=writer,
        simulator=Simulator(model),
        laboratory=laboratory,
        arbiter=Arbiter(model),
    )
    return Committee(
        agents=agents, plan=plan, model=model, recipe_id=recipe_id, demo=settings.llm.is_demo
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
    replies, ledger = ReplyStore(settings.store.replies), Ledger(settings.store.ledgers, llm)
    return LanguageModel(llm, replies, ledger, endpoint)
