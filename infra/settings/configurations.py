"""The configurations of the agents by name: which of them judge a pair."""

from collections.abc import Mapping
from typing import Literal

Configuration = Literal["single", "arbiter", "writer", "executor", "simulated", "paper", "gated"]
CONFIGURATION_SUMMARIES: Mapping[Configuration, str] = {
    "single": "one model reads the pair",
    "arbiter": "a screener decides clear pairs, and one model reads the others",
    "writer": "as arbiter, with a test program for unclear pairs that is not run",
    "executor": "as writer, and the test program is run",
    "simulated": "as executor, but a model predicts the run",
    "paper": "Algorithm 1 of CoSQA+: as executor, with a fixer that answers errors by commands",
    "gated": "as executor, with a fixer of other means, and programs must pass checks to count",
}
