"""The configurations of the agents by name: which of them judge a pair."""

from collections.abc import Mapping
from typing import Literal

Configuration = Literal[
    "single", "arbiter", "writer", "executor", "simulated", "paper", "spec", "v1-exact", "v1-half",
]  # fmt: skip
Evidence = Literal["read", "matches", "all"]
# The rows of the paper's ablation, and the default: what annotators are compared by if not asked.
COMPARED_CONFIGURATIONS: tuple[Configuration, ...] = (
    "single", "arbiter", "writer", "executor", "simulated", "paper", "spec",
)  # fmt: skip
CONFIGURATION_SUMMARIES: Mapping[Configuration, str] = {
    "single": "one model reads the pair, in three steps",
    "arbiter": "a screener decides clear pairs, and one model reads the others",
    "writer": "as arbiter, with a test program for unclear pairs that is not run",
    "executor": "as writer, and the test program is run",
    "simulated": "as executor, but a model predicts the run",
    "paper": "Algorithm 1 of CoSQA+: as executor, with a fixer that answers errors by commands",
    "spec": "a query is specified once, its examples are run on every candidate, and where they "
    "cannot be, a test program that must pass checks to count",
    "v1-exact": "CoSQA+ version 1, a label for code that answers in full: as single, with rounds=3",
    "v1-half": "CoSQA+ version 1, a label for code that meets half of the demands, with rounds=3",
}
