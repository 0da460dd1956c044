"""Construction of committees and models from settings."""

from agents.claims.executed import EXECUTED
from agents.committee.algorithm import Committee, Testers
from agents.committee.configurations import configuration_of
from agents.committee.specified import ClaimTester
from agents.committee.tester import Tester
from agents.gates.validator import OracleValidator
from agents.llm.client import LanguageModel
from agents.llm.ledger import Ledger
from agents.llm.recorded import RecordedReplies
from infra.languages import languages
from infra.settings import CommitteeSettings, LanguageModelSettings
from sandbox.base import Sandbox


def build_committee(
    model: LanguageModel, chosen: CommitteeSettings, recipe_id: str, sandbox: Sandbox
) -> Committee:
    """Return the committee that the settings describe; it closes the model, and not the sandbox."""
    configuration, testers = configuration_of(chosen.annotation), {}
    for language in (languages.get(name)() for name in languages.names()):
        if not language.is_executed:
            continue
        rules = EXECUTED[language.name].rules
        validator = OracleValidator(chosen.gates, language, rules, configuration.scaffolding)
        tester = Tester(
            sandbox=sandbox,
            language=language,
            configuration=configuration,
            max_try_time=chosen.annotation.max_try_time,
            validator=validator if configuration.gates else None,
        )
        claims = ClaimTester(sandbox, language, validator)
        testers[language.name] = Testers(tester, claims)
    return Committee(configuration=configuration, testers=testers, model=model, recipe_id=recipe_id)


def build_model(
    llm: LanguageModelSettings, ledger: Ledger, labelling_round: int = 1
) -> LanguageModel:
    """Return the language model that the settings describe."""
    if llm.is_recorded:
        return RecordedReplies(llm, ledger)
    return LanguageModel(llm, ledger, labelling_round)
