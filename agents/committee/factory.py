"""Construction of committees and models from settings."""

from agents.committee.algorithm import Committee, Testers
from agents.committee.configurations import Configuration, configuration_of
from agents.committee.specified import ClaimTester
from agents.committee.tester import Tester
from agents.gates.validator import OracleValidator
from agents.llm.client import LanguageModel, ReportingModel
from agents.llm.ledger import Ledger, journal_ledger
from agents.llm.recorded import RecordedReplies
from infra.languages import Language, languages
from infra.settings import Settings
from sandbox.base import Sandbox


def build_committee(
    settings: Settings,
    recipe_id: str,
    sandbox: Sandbox,
    labelling_round: int = 1,
    ledger: Ledger | None = None,
    client: type[LanguageModel] = LanguageModel,
) -> Committee:
    """Return the committee that the settings describe.

    Args:
        settings: The model, the configuration, the gates and the store.
        recipe_id: The digest of ``recipe_of`` for the same settings.
        sandbox: Where programs run; closing it is left to the caller.
        labelling_round: The round in which pairs are judged.
        ledger: See `build_model`.
        client: The client of a model that is asked: `KeptReplies` asks nobody.
    """
    model = build_model(settings, labelling_round, ledger, client)
    return committee_on(model, settings, recipe_id, sandbox)


def committee_on(
    model: ReportingModel, settings: Settings, recipe_id: str, sandbox: Sandbox
) -> Committee:
    """Return the committee that the settings describe on any model; see `build_committee`."""
    configuration = configuration_of(settings.annotation)
    known = (languages.get(name)() for name in languages.names())
    testers = {
        language.name: _testers_of(language, configuration, settings, sandbox)
        for language in known
        if language.is_executed
    }
    return Committee(configuration=configuration, testers=testers, model=model, recipe_id=recipe_id)


def _testers_of(
    language: Language, configuration: Configuration, settings: Settings, sandbox: Sandbox
) -> Testers:
    validator = OracleValidator(settings.gates, language, scaffolding=configuration.scaffolding)
    tester = Tester(
        sandbox=sandbox,
        language=language,
        configuration=configuration,
        max_try_time=settings.annotation.max_try_time,
        validator=validator if configuration.gates else None,
    )
    return Testers(language, tester, ClaimTester(sandbox, language, validator))


def build_model(
    settings: Settings,
    labelling_round: int = 1,
    ledger: Ledger | None = None,
    client: type[LanguageModel] = LanguageModel,
) -> ReportingModel:
    """Return the language model that the settings describe.

    Args:
        settings: The model and the store.
        labelling_round: Replies of one round are not found by another.
        ledger: Has replies and what was spent; None is the store's own, in this process.
        client: As of `build_committee`.
    """
    llm = settings.llm
    if llm.is_recorded:
        return RecordedReplies(llm, ledger)
    return client(llm, ledger or journal_ledger(settings.store, llm), labelling_round)
