"""How a committee is put together from settings."""

from collections.abc import Callable

from agents.committee.algorithm import Agents, Committee
from agents.committee.configurations import PLANS
from agents.committee.tester import Laboratory
from agents.gates.validator import Gatekeeper
from agents.llm.cache import ReplyStore
from agents.llm.client import LanguageModel, Model
from agents.llm.embedded import adapted
from agents.llm.endpoint import Endpoint
from agents.llm.rate_limit import Ledger
from agents.roles.arbiter import Arbiter
from agents.roles.executor import Executor
from agents.roles.fixer import Fixer
from agents.roles.screener import Screener
from agents.roles.simulator import Simulator
from agents.roles.writer import Writer
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
        raise SettingsError(f"{llm.model} needs the endpoint that agents.llm.embedded serves it at")
    replies, ledger = ReplyStore(settings.store.replies), Ledger(settings.store.ledgers, llm)
    return LanguageModel(llm, replies, ledger, endpoint)
