"""Construction of committees and models from settings."""

from agents.committee.algorithm import Committee, Testers
from agents.committee.configurations import Configuration, configuration_of
from agents.committee.specified import ClaimTester
from agents.committee.tester import Tester
from agents.gates.validator import OracleValidator
from agents.llm.client import LanguageModel, ReportingModel
from agents.llm.ledger import Ledger
from agents.llm.recorded import RecordedReplies
from infra.languages import Language, languages
from infra.settings import CommitteeSettings, GateSettings, LanguageModelSettings
from sandbox.base import Sandbox


def build_committee(
    chosen: CommitteeSettings,
    recipe_id: str,
    sandbox: Sandbox,
    ledger: Ledger,
    labelling_round: int = 1,
    client: type[LanguageModel] = LanguageModel,
) -> Committee:
    """Return the committee that the settings describe.

    Args:
        chosen: The model, the configuration and the gates.
        recipe_id: The digest of ``recipe_of`` for the same settings.
        sandbox: Where programs run; closing it is left to the caller.
        ledger: See `build_model`.
        labelling_round: The round in which pairs are judged.
        client: The client of a model that is asked: `KeptReplies` asks nobody.
    """
    model = build_model(chosen.llm, ledger, labelling_round, client)
    return committee_on(model, chosen, recipe_id, sandbox)


def committee_on(
    model: ReportingModel, chosen: CommitteeSettings, recipe_id: str, sandbox: Sandbox
) -> Committee:
    """Return the committee that the settings describe on any model; see `build_committee`."""
    configuration, gates = configuration_of(chosen.annotation), chosen.gates
    rounds = chosen.annotation.max_try_time
    known = (languages.get(name)() for name in languages.names())
    testers = {
        language.name: _testers_of(language, configuration, gates, rounds, sandbox)
        for language in known
        if language.is_executed
    }
    return Committee(configuration=configuration, testers=testers, model=model, recipe_id=recipe_id)


def _testers_of(
    language: Language,
    configuration: Configuration,
    gates: GateSettings,
    max_try_time: int,
    sandbox: Sandbox,
) -> Testers:
    validator = OracleValidator(gates, language, scaffolding=configuration.scaffolding)
    tester = Tester(
        sandbox=sandbox,
        language=language,
        configuration=configuration,
        max_try_time=max_try_time,
        validator=validator if configuration.gates else None,
    )
    return Testers(language, tester, ClaimTester(sandbox, language, validator))


def build_model(
    llm: LanguageModelSettings,
    ledger: Ledger,
    labelling_round: int = 1,
    client: type[LanguageModel] = LanguageModel,
) -> ReportingModel:
    """Return the language model that the settings describe.

    Args:
        llm: The model.
        ledger: Has replies and what was spent; it is closed with the model.
        labelling_round: Replies of one round are not found by another.
        client: As of `build_committee`.
    """
    if llm.is_recorded:
        return RecordedReplies(llm, ledger)
    return client(llm, ledger, labelling_round)
