"""Laws of what labels depend on: a label that is called fresh would be given again.

Covers `agents.committee.recipe`.
"""

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, get_args

import pytest

from agents import recipe_of
from agents.claims.executed import is_claims_program
from agents.claims.program import TEST
from agents.committee.algorithm import build_committee
from agents.committee.recipe import changed_parts, criterion_of, dependency_of
from agents.llm.client import LanguageModel, OnCall, ignore_call
from agents.llm.prompt import Prompt, system_text
from agents.llm.structured_output import ReplyType
from agents.roles.fix import Repair
from agents.roles.judge import Arbiter
from agents.roles.specify import SpecifiedScreening
from infra.errors import UnreadableReplyError
from infra.identity import digest_of, mark_of
from infra.records import Annotation, Code, ExecutionResult, LanguageModelCall, Pair, Query
from infra.settings import (
    AnnotationSettings,
    GateSettings,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
)
from sandbox.base import CLOCK, Isolation
from tests.fakes.sandbox import FAILED, HOLLOW, PASSED, FakeBox, lacks, raised
from tests.fakes.specified import claims_run

PAIRS = [
    Pair(query=Query.of(f"add {n}"), code=Code.of(f"def plus(x):\n    return x + {n}"))
    for n in range(28, 40)  # each role judges some of them
]
PROGRAMS = [
    *(f"from target import plus\ndef test_it():\n    assert plus({n}) == {n}" for n in range(6)),
    "from target import plus\nassert plus(1) is not None",
    "this is no program",
    "",
]


@dataclass(frozen=True)
class Variant:
    """Settings and prompts that agents judge by.

    Attributes:
        sections: Sections of the settings.
        prompts: Role → what is added to its prompt.
        sandbox: What the sandbox says of itself.
    """

    sections: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    sandbox: str = "image 1"
    labelling_round: int = 1

    @property
    def settings(self) -> Settings:
        model = {"llm": LanguageModelSettings(model="openai/scripted")}
        return Settings.model_validate({**on("spec"), **model, **self.sections})


def by_lot(*parts: object) -> random.Random:
    """Return what is drawn from: the same for the same parts."""
    return random.Random(digest_of([str(part) for part in parts]))


class Model(LanguageModel):
    """A model whose replies follow from all that it is asked, and from what it is."""

    def __init__(self, variant: Variant) -> None:
        self.code_limit = 6_000
        self._identity = (variant.settings.llm.model, variant.settings.llm.temperature)
        self._round = variant.labelling_round

    async def ask(
        self,
        role: str,
        prompt: Prompt,
        reply_type: type[ReplyType],
        on_call: OnCall = ignore_call,
    ) -> ReplyType:
        """Return a reply by lot, seldom none that can be read."""
        draw = by_lot(self._identity, self._round, role, prompt.system, prompt.user)
        fields: dict[str, Any] = {
            "reason": f"for {draw.random()}",
            "verdict": draw.choice(_verdicts(role)),
            "reading": "r", "program": draw.choice(PROGRAMS),
            "diagnosis": "d", "content": draw.choice(["numpy", "import os", PROGRAMS[0]]),
            "action": draw.choice(get_args(Repair.model_fields["action"].annotation)),
            "beside": draw.choice(["", "import re"]),
            "commands": draw.choice(["pip install numpy", "touch a"]),
            "outcome": draw.choice(["passed", "assertion_failed", "raised"]), "message": "m",
            "asked": "a", "deviations": f"{draw.random()}",
        }  # fmt: skip
        is_readable = draw.random() > 0.04
        fields |= {
            "demands": f"{draw.random()}", "left_open": "",
            "examples": draw.choice(["1 => 2\n2 => 2\n3 => 2", "1 => 2\n0 => 2", ""]),
            "clarity": draw.choice(["clear", "underspecified"]), "cannot_show": "none",
            "adapter": draw.choice(["def answer(x):\n    return plus(x)"] * 2 + [""]),
            "call": draw.choice(["5 => 9", ""]), "value": draw.choice(["2", "2", "2", "9", "open"]),
        }  # fmt: skip
        if reply_type is SpecifiedScreening:
            fields["verdict"] = draw.choice(get_args(reply_type.model_fields["verdict"].annotation))
        call = LanguageModelCall(
            role=role, attempt=1, model="m", prompt_digest="d",
            status="ok" if is_readable else "unreadable",
        )  # fmt: skip
        on_call(call)
        if not is_readable:
            raise UnreadableReplyError("no reply")
        return reply_type.model_validate({name: fields[name] for name in reply_type.model_fields})

    async def close(self) -> None:
        """Do nothing."""


def _verdicts(role: str) -> Sequence[str]:
    if role == "screener":
        return ("clear_match", "clear_non_match", "unclear", "unclear", "unclear", "unclear")
    if role == "command_fixer":
        return ("repairable", "irreparable")
    return ("answers", "does_not_answer")


class LotBox(FakeBox):
    """A box whose runs follow from the program, what is installed, and what the box is."""

    def __init__(self, identity: str) -> None:
        super().__init__(lambda program, installed: PASSED, frozenset(["numpy"]))
        self._identity = identity

    async def run(
        self,
        program: str,
        *,
        hash_seed: int = 0,
        clock: float = CLOCK,
        code: str | None = None,
        timeout_s: float | None = None,
        isolated: Isolation = False,
    ) -> ExecutionResult:
        """Return a result by lot, for mutants depending on their time-out."""
        own = program.partition(f"def {TEST}")[2] or program  # without the helpers of claims
        draw = by_lot(self._identity, own, sorted(self.installed), code, timeout_s)
        if is_claims_program(program) and code is None:
            given = {call: "7" for call in "12305" if draw.random() < 0.2}
            return claims_run(given)(program, self.installed)
        if code is not None:
            return draw.choice([FAILED, FAILED, PASSED])
        return draw.choice([PASSED, FAILED, FAILED, HOLLOW, raised(), raised("E"), lacks("numpy")])


class LotSandbox:
    """A sandbox of such boxes."""

    def __init__(self, variant: Variant) -> None:
        self._identity = f"{variant.sandbox} {variant.settings.sandbox.memory_mb}"

    async def check(self) -> str:
        """Return what stands for engine and image."""
        return self._identity

    def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AbstractAsyncContextManager[FakeBox]:
        """Return a fresh box."""
        return self._box(f"{self._identity} {code} {bare}")

    @asynccontextmanager
    async def _box(self, identity: str) -> AsyncIterator[FakeBox]:
        yield LotBox(identity)

    async def close(self) -> None:
        """Do nothing."""


def on(configuration: str, **annotation: Any) -> dict[str, Any]:
    return {
        "annotation": AnnotationSettings.model_validate(
            {"configuration": configuration, **annotation}
        )
    }


ROLES = ("screener", "writer", "blind_writer", "fixer", "arbiter")
OF_CLAIMS = ("specifier", "value_reader", "claims_arbiter")
TEXTS = {  # text → role
    "gated_arbiter": "arbiter",
    "gated_writer": "writer",
    "specified_screener": "screener",
}
VARIANTS = {
    **{name: Variant(on(name)) for name in ("spec", "paper", "executor", "writer")},
    **{name: Variant(on(name)) for name in ("simulated", "arbiter", "single", "v1-half")},
    "tested": Variant(on("spec", evidence="all")),
    "executor, tested": Variant(on("executor", evidence="all")),
    **{f"spec, {role}": Variant(prompts={role: " Mind."}) for role in (*ROLES, *OF_CLAIMS)},
    "paper, command_fixer": Variant(on("paper"), {"command_fixer": " Mind."}),
    "paper, judge": Variant(on("paper"), {"exact_judge": " Mind."}),
    **{f"tries {n}": Variant(on("spec", max_try_time=n)) for n in (0, 1)},
    "paper, tries": Variant(on("paper", max_try_time=0)),
    "gates": Variant({"gates": GateSettings(mutants=3, min_mutation_score=0.9)}),
    "time-out": Variant({"gates": GateSettings(mutant_timeout_s=1)}),
    "memory": Variant({"sandbox": SandboxSettings(memory_mb=256)}),
    "image": Variant(sandbox="image 2"),
    "model": Variant({"llm": LanguageModelSettings(model="openai/other")}),
    "temperature": Variant({"llm": LanguageModelSettings(model="openai/scripted", temperature=1)}),
    "round": Variant(labelling_round=2),
}  # fmt: skip


@pytest.fixture
def prompts(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], None]:
    """Return a function that changes the system texts of roles."""

    def change(added: Mapping[str, str]) -> None:
        def text(name: str, *language: str) -> str:
            return system_text(name, *language) + added.get(TEXTS.get(name, name), "")

        for module in ("agents.committee.recipe", "agents.roles"):
            monkeypatch.setattr(f"{module}.system_text", text)

    return change


async def judged(variant: Variant) -> list[Annotation]:
    """Return the annotations of all pairs by a variant."""
    committee = build_committee(
        Model(variant), variant.settings.committee, "recipe", LotSandbox(variant)
    )
    return [await committee.judge(pair) for pair in PAIRS]


@pytest.mark.exhaustive
async def test_a_label_that_is_fresh_under_another_recipe_is_the_one_that_it_gives(
    prompts: Callable[[Mapping[str, str]], None],
) -> None:
    bodies, annotations = {}, {}
    for name, variant in VARIANTS.items():
        prompts(variant.prompts)
        bodies[name] = recipe_of(
            variant.settings.committee, variant.sandbox, variant.labelling_round
        )
        annotations[name] = await judged(variant)

    @cache
    def dependency(variant: str, roles_asked: str) -> str:
        return dependency_of(bodies[variant], roles_asked)

    fresh = {
        (one, other): [
            (first, second)
            for first, second in zip(annotations[one], annotations[other], strict=True)
            if dependency(one, first.roles_asked) == dependency(other, first.roles_asked)
        ]
        for one in VARIANTS
        for other in VARIANTS
    }
    for (one, other), pairs in fresh.items():
        for first, second in pairs:
            assert outcome(first) == outcome(second), (one, other, first.roles_asked)
    some = {pair for pair, items in fresh.items() if 0 < len(items) < len(PAIRS)}
    of_all = ("specifier", "screener")
    unasked = {("spec", f"spec, {role}") for role in (*ROLES, *OF_CLAIMS) if role not in of_all}
    assert unasked | {("spec", part) for part in ("tries 0", "image", "gates")} <= some
    assert {("paper", "executor"), ("paper", "writer")} <= some, "they have one screener"
    for none in ("model", "round", "temperature", "single", "paper"):
        assert not fresh["spec", none], none
    for role in of_all:  # no screener reads by a specification that cannot be read
        roles_asked = {first.roles_asked for first, _ in fresh["spec", f"spec, {role}"]}
        assert roles_asked <= {"specifier"} - {role}, role
    assert not fresh["executor", "executor, tested"]
    assert any(item.path.startswith("claims_") for item in annotations["spec"])
    assert len(fresh["spec", "spec"]) == len(fresh["paper", "paper, judge"]) == len(PAIRS)


def outcome(annotation: Annotation) -> tuple[object, ...]:
    return (
        annotation.status, annotation.label, annotation.path, annotation.reason,
        annotation.support, annotation.roles_asked,
    )  # fmt: skip


def body(**sections: Any) -> dict[str, object]:
    return recipe_of(Settings(**{**on("spec"), **sections}).committee, "image 1")


def test_a_recipe_of_which_not_all_is_known_counts_as_a_whole() -> None:
    known = body()
    older = {name: value for name, value in known.items() if name != "prompts"}
    for roles_asked in ("", "screener", "box", "unheard_of"):
        assert dependency_of(older, roles_asked) != dependency_of(known, roles_asked)
    for roles_asked in ("", "box", "screener,unheard_of"):
        assert dependency_of(known, roles_asked) == mark_of(known)
    assert dependency_of(known | {"round": 2}, "screener") != dependency_of(known, "screener")


@pytest.mark.parametrize(
    ("sections", "roles_asked", "changed"),
    [
        ({}, "arbiter,box,screener,writer", ()),
        ({"sandbox": SandboxSettings(memory_mb=99)}, "screener", ()),
        ({"sandbox": SandboxSettings(memory_mb=99)}, "box,screener", ("limits of the sandbox",)),
        ({"llm": LanguageModelSettings(model="openai/x")}, "screener", ("model",)),
        (on("spec", max_try_time=9), "screener,writer", ("rounds of repair",)),
        (on("spec", max_try_time=9), "box,screener", ()),
        (on("spec", evidence="all"), "screener", ("evidence",)),
        (on("v1-half"), "screener", ("agents",)),
    ],
)
def test_what_changed_for_a_pair_is_named(
    sections: dict[str, Any], roles_asked: str, changed: tuple[str, ...]
) -> None:
    found = changed_parts(body(), body(**sections), roles_asked)
    assert found == changed
    assert bool(found) == (
        dependency_of(body(), roles_asked) != dependency_of(body(**sections), roles_asked)
    )


def test_a_changed_prompt_is_named_by_its_agent(
    prompts: Callable[[Mapping[str, str]], None],
) -> None:
    before = body()
    prompts({Arbiter.role: " Mind."})
    assert changed_parts(before, body(), "arbiter,screener,writer") == ("prompt of arbiter",)
    assert changed_parts(before, body(), "screener") == ()


def test_the_criterion_is_told_by_the_recipe() -> None:
    assert criterion_of(body(**on("v1-half"))) == "half"
    assert {criterion_of(body(**on(name))) for name in ("v1-exact", "spec")} == {"exact"}
    assert criterion_of({"configuration": "of another release"}) == "exact"
