"""Construction of committees and models from settings."""

from agents.committee.algorithm import Committee, Testers
from agents.committee.configurations import configuration_of
from agents.committee.specified import ClaimTester
from agents.committee.tester import Tester
from agents.gates.validator import OracleValidator
from agents.llm.client import LanguageModel, ReportingModel
from agents.llm.ledger import Ledger
from agents.llm.recorded import RecordedReplies
from infra.languages import languages
from infra.settings import CommitteeSettings, LanguageModelSettings
from sandbox.base import Sandbox


def build_committee(
    chosen: CommitteeSettings,
    recipe_id: str,
    sandbox: Sandbox,
    ledger: Ledger,
    labelling_round: int = 1,
) -> Committee:
    """Return the committee that the settings describe.

    Closing the sandbox is left to the caller.
    """
    model = build_model(chosen.llm, ledger, labelling_round)
    return committee_on(model, chosen, recipe_id, sandbox)


def committee_on(
    model: ReportingModel, chosen: CommitteeSettings, recipe_id: str, sandbox: Sandbox
) -> Committee:
    """Return the committee that the settings describe on any model; see `build_committee`."""
    configuration, testers = configuration_of(chosen.annotation), {}
    for language in (languages.get(name)() for name in languages.names()):
        if not language.is_executed:
            continue
        validator = OracleValidator(chosen.gates, language, scaffolding=configuration.scaffolding)
        tester = Tester(
            sandbox=sandbox,
            language=language,
            configuration=configuration,
            max_try_time=chosen.annotation.max_try_time,
            validator=validator if configuration.gates else None,
        )
        claims = ClaimTester(sandbox, language, validator)
        testers[language.name] = Testers(language, tester, claims)
    return Committee(configuration=configuration, testers=testers, model=model, recipe_id=recipe_id)


def build_model(
    llm: LanguageModelSettings, ledger: Ledger, labelling_round: int = 1
) -> ReportingModel:
    """Return the language model that the settings describe."""
    if llm.is_recorded:
        return RecordedReplies(llm, ledger)
    return LanguageModel(llm, ledger, labelling_round)
