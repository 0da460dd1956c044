"""The sandbox's page promises nothing that no test holds.

The table has words of each statement (a sentence, or its part between semicolons and colons) and
the tests that fail where it is broken, named as pytest does. One test can stand for several
statements; a statement with several promises has several entries.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sandbox.contract import BEHAVIOURS
from tests.test_layout import ROOT

SECTION = " ".join(
    (ROOT / "sandbox" / "README.md")
    .read_text("utf-8")
    .partition("\n## Untrusted code\n")[2]
    .partition("\n## ")[0]
    .split()
)
_STATEMENT_END = re.compile(r"(?<=[.;:]) (?![^()]*\))")

_ATTACKS = "sandbox/attacks/test_attacks.py::test_"
_APART = "sandbox/test_apart.py::test_"
_BACKEND = "sandbox/backends/docker/test_backend.py::test_"
_SHELL = "sandbox/test_shell.py::test_"
_INSTALLERS = "sandbox/backends/docker/test_wheels.py::test_"
_WHEELS = "sandbox/packages/test_guarded_pip.py::test_"
_EVIDENCE = "tasks/benchmarks/test_evidence.py::test_"
_OUTCOMES = "sandbox/test_outcomes.py::test_"
_ENGINE = "infra/test_ensure_engine.py::test_"
_NOWHERE = "sandbox/test_nowhere_else.py::test_"
_COMMANDS = "sandbox/test_commands.py::test_"
_NAMES = "sandbox/packages/test_packages.py::test_"
_ISOLATION = "sandbox/test_isolation.py::test_"
_SHOWS = "sandbox/contract/test_check.py::test_every_box_shows"
_ANSWERS = "sandbox/backends/docker/test_any_answer.py::test_"
_PROGRAMS = "agents/gates/test_any_program.py::test_"
_VALIDATOR = "agents/gates/test_validator.py::test_"
_USERS = "sandbox/backends/docker/test_images.py::test_"
_CHECK = "sandbox/contract/test_check.py::test_"
_WALL = "sandbox/backends/docker/test_walls.py::test_a_wall_"

# Words of the README → tests below `tests/`.
PROMISES: dict[str, list[str]] = {
    "run in Docker boxes and nowhere else:": [
        f"{_NOWHERE}no_module_outside_a_box_runs_what_it_is_given_but_those_of_the_list",
        "flows/test_untrusted.py::test_code_of_a_corpus_and_a_model_runs_in_boxes_alone",
        "agents/committee/test_generation.py::test_an_answer_never_runs_in_this_process",
        "infra/languages/python/test_mutation.py::test_nothing_is_run_while_mutants_are_made",
        f"{_PROGRAMS}any_program_is_read_or_refused",
        f"{_ANSWERS}any_report_is_a_result_or_an_error_of_the_box",
    ],
    "no network while code runs,": [
        f"{_WALL}stands[no network]",
        f"{_ISOLATION}what_is_out_of_reach_raises_an_os_error",
        "sandbox/inside/test_seccomp.py::test_a_program_may_not_make_calls_that_lead_out",
    ],
    "no capabilities,": [f"{_WALL}stands[no capabilities]"],
    "no new privileges,": [f"{_WALL}stands[no new privileges]"],
    "read-only root,": [f"{_WALL}stands[read-only root]"],
    "a user number that no other box on the machine has,": [
        f"{_WALL}stands[a user of its own]",
        f"{_USERS}boxes_of_two_sandboxes_have_different_users",
        f"{_USERS}what_a_box_takes_of_its_users_limits_its_neighbour_still_has",
    ],
    "limits on memory,": [
        f"{_WALL}stands[a limit on memory]",
        f"{_ISOLATION}the_box_is_whole_after_an_attack",
    ],
    "processes, files, output and time.": [
        f"{_WALL}stands[a limit on processes]",
        f"{_WALL}stands[a limit on files]",
        f"{_WALL}that_is_taken_away_is_missed",
        f"{_ATTACKS}a_hostile_program_ends_as_stated_and_harms_nothing",
        f"{_OUTCOMES}each_way_to_end_has_its_outcome",
        f"{_OUTCOMES}output_is_kept_up_to_the_limit",
    ],
    "begin alike in each run:": [
        f"{_OUTCOMES}what_the_readme_calls_alike_is_alike_in_two_boxes",
    ],
    "on 1 January 2026.": [
        f"{_SHOWS}[the clock begins where the caller said]",
    ],
    "Addresses, `os.urandom`, generators without a seed, times of files": [
        f"{_OUTCOMES}what_the_readme_calls_different_differs_in_two_boxes",
    ],
    "the user's number do not (its name and home do).": [
        f"{_USERS}two_boxes_at_once_have_two_users_of_one_name_and_home",
    ],
    "makes sure of engine and image and explains itself;": [
        f"{_ENGINE}what_an_ended_engine_left_is_no_hindrance",
        f"{_ENGINE}where_no_engine_can_be_had_the_script_says_what_to_do",
        f"{_ENGINE}an_image_that_is_missing_is_built_without_a_network_and_one_that_is_there_is_kept",
    ],
    "`DOCKER_HOST` names another engine,": [
        f"{_BACKEND}no_engine_is_its_own_error",
        "sandbox/backends/docker/test_faults.py::test_a_program_whose_line_is_cut_runs_again",
    ],
    "`COSQA_SANDBOX__RUNTIME` another runtime": [
        f"{_BACKEND}a_runtime_that_the_settings_name_is_asked_for_and_no_other_is_taken",
    ],
    "is installed where no program can write:": [
        f"{_BACKEND}a_wheel_installs_and_cannot_be_changed_by_programs",
        f"{_ISOLATION}a_program_meets_no_wheel_cache",
    ],
    "wheels from your index and from no other host,": [
        f"{_WHEELS}an_address_in_metadata_runs_nothing_and_asks_nobody_else",
        f"{_INSTALLERS}nothing_is_built_and_nobody_else_is_asked",
    ],
    "of which nothing runs before it is imported;": [
        f"{_SHELL}nothing_that_a_package_brings_runs_before_it_is_imported",
        f"{_SHELL}no_file_of_a_wheel_is_loaded_before_the_interpreter",
    ],
    "for one pair at most `COSQA_SANDBOX__INSTALL_MB`.": [
        f"{_INSTALLERS}the_limit_is_for_all_that_is_installed_for_a_pair",
        f"{_WHEELS}more_than_the_limit_is_not_installed",
    ],
    "This machine's pip fetches them, as you have set it up": [
        f"{_INSTALLERS}a_wheel_and_what_it_needs_are_there_and_nobody_reads_the_indexs_credentials",
    ],
    "in a process that may start no other,": [
        f"{_WHEELS}no_process_is_started",
        f"{_WHEELS}a_source_distribution_of_the_index_is_not_built",
        f"{_WHEELS}a_file_or_folder_of_this_machine_is_no_distribution",
    ],
    "has limits of time, memory and disk,": [
        f"{_WHEELS}what_is_ended_leaves_nothing",
        f"{_WHEELS}metadata_without_end_take_no_more_than_their_process_may",
        f"{_WHEELS}more_than_the_limit_is_not_fetched",
    ],
    "takes no address that a package's metadata demand,": [
        f"{_WHEELS}an_address_in_metadata_runs_nothing_and_asks_nobody_else",
    ],
    "asks the hosts of pip's own configuration": [
        f"{_WHEELS}a_file_that_the_index_has_elsewhere_needs_a_host_that_was_named",
    ],
    "The container that unpacks them has no network.": [
        f"{_INSTALLERS}a_wheel_and_what_it_needs_are_there_and_nobody_reads_the_indexs_credentials",
    ],
    "Debian packages are those that the image has:": [
        f"{_INSTALLERS}no_debian_package_is_added_to_a_box",
    ],
    "none is added to a box.": [f"{_INSTALLERS}no_debian_package_is_added_to_a_box"],
    "the libraries that wheels need most,": [
        f"{_INSTALLERS}the_image_has_the_libraries_that_programs_need",
    ],
    "goes the same way and takes names only;": [
        f"{_COMMANDS}installations_are_recognised",
        f"{_COMMANDS}options_that_lead_elsewhere_and_debian_packages_are_refused",
        f"{_NAMES}options_addresses_and_paths_are_none",
        f"{_BACKEND}only_names_and_versions_are_requirements",
    ],
    "its other commands run in the box without a network,": [
        f"{_SHELL}a_command_that_reaches_beyond_its_box_fails",
    ],
    "on its memory file system.": [f"{_SHELL}commands_run_on_the_boxs_memory_file_system"],
    "the engine's boxes must show the 61 behaviours of `cosqa sandbox check`.": [
        f"{_CHECK}no_box_is_given_out_before_the_engine_has_shown_all",
        _SHOWS,
    ],
    "The first run on an engine asks for them,": [
        f"{_CHECK}runs_at_once_ask_once_and_say_so",
    ],
    "what it shows is persisted for later runs, until engine, kernel, runtime, image or release": [
        f"{_CHECK}an_engine_is_asked_once_and_again_when_it_is_another",
        f"{_CHECK}a_persisted_result_that_is_damaged_is_none",
    ],
    "An engine that does not show one, or cannot hold boxes to a limit, runs nothing,": [
        f"{_CHECK}what_an_engine_does_not_show_stops_each_run_and_is_named",
        f"{_BACKEND}an_engine_without_a_limit_runs_nothing_unless_that_is_accepted",
        "sandbox/backends/docker/test_abilities.py::test_an_engine_that_says_nothing_lacks_everything",
    ],
    "run once more with the code under test in a process of its own.": [
        f"{_VALIDATOR}a_program_that_passes_is_played_once_more_with_the_code_in_its_own_process",
    ],
    "sees the arguments of calls and answers with plain values": [
        f"{_APART}a_program_ends_apart_as_it_does_beside_the_code",
        "sandbox/inside/test_values.py::test_what_is_no_plain_value_is_not_sent",
        "sandbox/inside/test_values.py::test_whatever_is_sent_only_plain_values_are_made",
    ],
    "it sees nothing of the asserts.": [
        f"{_APART}what_code_knows_of_its_program_beside_it_it_does_not_know_apart",
        f"{_APART}code_that_runs_apart_finds_nothing_of_the_program",
        f"{_ATTACKS}a_false_assert_passes_in_no_process_apart_and_beside_its_code_as_stated",
    ],
    "does not pass there too is no evidence.": [
        f"{_VALIDATOR}a_program_that_passes_is_played_once_more_with_the_code_in_its_own_process",
        f"{_VALIDATOR}the_right_gate_stops_each_program",
    ],
    "What protected a verdict stands beside it,": [
        f"{_EVIDENCE}what_protected_a_verdict_stands_beside_it_in_the_published_evidence",
    ],
    "`shared` with the reason where that is impossible,": [
        f"{_APART}what_needs_one_interpreter_is_given_up_with_a_reason",
        f"{_VALIDATOR}a_program_that_passes_is_played_once_more_with_the_code_in_its_own_process",
    ],
    "What this does not cover:": [
        f"{_ATTACKS}a_false_assert_passes_in_no_process_apart_and_beside_its_code_as_stated",
    ],
    "return what equals everything, read the expected results, change what asserts rest on,": [
        f"{_ATTACKS}a_false_assert_passes_in_no_process_apart_and_beside_its_code_as_stated",
        f"{_ATTACKS}no_false_assert_may_pass_but_those_of_the_list",
        f"{_ATTACKS}every_hostile_file_has_its_line",
    ],
    "turn up the counts of asserts and calls,": [
        f"{_ATTACKS}code_beside_its_program_can_turn_up_the_counts_of_asserts_and_calls",
    ],
    "The gates catch what also passes on broken versions of the code;": [
        f"{_VALIDATOR}of_what_a_box_does_not_promise_the_gates_catch",
        f"{_VALIDATOR}the_right_gate_stops_each_program",
    ],
    "A program that works out expected values from arguments must also": [
        f"{_VALIDATOR}what_is_expected_is_not_worked_out_from_what_the_code_may_change",
    ],
    "are pinned by version, not by hash;": [
        "infra/test_ensure_engine.py::test_every_package_is_pinned_by_its_version",
    ],
    "each recipe names the image by its digest.": [
        f"{_BACKEND}what_a_recipe_has_of_the_sandbox_names_the_image_by_its_digest",
    ],
    "neither an object that equals everything nor an attacker who knows them.": [
        f"{_VALIDATOR}what_the_readme_calls_uncaught_passes_the_gates_without_protection",
    ],
    "A failing verdict has no such protection.": [
        f"{_VALIDATOR}a_failing_verdict_has_no_protection"
    ],
    "A run can tell how many runs its box has had before,": [
        f"{_OUTCOMES}a_program_can_tell_how_many_runs_its_box_has_had",
    ],
    "find in freed memory what they printed": [
        f"{_ATTACKS}a_second_run_finds_of_a_hostile_first_one_what_is_stated",
        f"{_ATTACKS}a_second_run_may_find_nothing_but_what_the_list_says",
    ],
}


def statements() -> list[str]:
    """Return the section's sentences, each cut where it has a semicolon or a colon."""
    return _STATEMENT_END.split(SECTION)


def test_the_number_of_behaviours_is_true() -> None:
    assert f"the {len(BEHAVIOURS)} behaviours of `cosqa sandbox check`" in SECTION


@cache
def names_in(file: Path) -> frozenset[str]:
    """Return the names of a file's functions, those of classes with their class before."""
    return frozenset(_functions_in(ast.parse(file.read_text("utf-8")), ""))


def _functions_in(tree: ast.AST, prefix: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions_in(node, f"{prefix}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name


def test_each_statement_has_a_test() -> None:
    for statement in statements():
        assert [words for words in PROMISES if words in statement], "no test is named for it"


def test_each_entry_is_what_the_readme_says_once() -> None:
    for words, tests in PROMISES.items():
        assert sum(words in statement for statement in statements()) == 1, words
        assert tests, words


def test_each_test_that_is_named_exists() -> None:
    for test in sorted({test for named in PROMISES.values() for test in named}):
        file, _, name = test.partition("::")
        function, _, case = name.partition("[")
        assert function in names_in(ROOT / "tests" / file), test
        if case:  # a behaviour, or an entry of a table in the same file
            known = [one.name for one in BEHAVIOURS]
            text = (ROOT / "tests" / file).read_text("utf-8")
            assert case.rstrip("]") in known or f'"{case.rstrip("]")}"' in text, test


def test_a_statement_ends_at_full_stops_semicolons_and_colons_outside_parentheses() -> None:
    text = "One: two (a; b.) and `x`; three. Four `os.urandom`, and 2.5."
    assert _STATEMENT_END.split(text) == [
        "One:", "two (a; b.) and `x`;", "three.", "Four `os.urandom`, and 2.5.",
    ]  # fmt: skip
