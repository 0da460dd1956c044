# `make run` and `make test` need Python 3.11, git and make; they set up all else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Many tests wait for processes and containers rather than compute: more runners than cores. What each
# takes, and in which order, is in tests/conftest.py.
PARALLEL := --numprocesses 4 --no-loadscope-reorder

# Its warnings would hide the one line that says what is installed.
export PIP_ROOT_USER_ACTION := ignore
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Else each of hundreds of processes would compile all modules anew, where the environment has it.
unexport PYTHONDONTWRITEBYTECODE

# The engine and the image are made while the packages are installed.
MAKEFLAGS += --jobs=2

.DEFAULT_GOAL := help
.PHONY: help run server test test-all nightly chaos screenshots lint style types imports format setup engine browser clean

help:  ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: setup engine  ## Set up, then label and score the packaged sample (40 queries, 1,000 functions)
	@echo "labelling and scoring the sample: two to five minutes on idle cores"
	@$(BIN)/cosqa benchmark

server: setup engine  ## Set up, then run a Prefect server with all deployments and a worker, until Ctrl-C
	$(BIN)/cosqa server

test: setup engine  ## Set up, then run the tests without the exhaustive and the nightly ones
	COSQA_REQUIRE_DOCKER=1 $(BIN)/pytest $(PARALLEL) -m "not exhaustive and not nightly"

test-all: setup engine  ## Set up, then run all tests but the nightly ones, as the gate does
	COSQA_REQUIRE_DOCKER=1 $(BIN)/pytest $(PARALLEL) -m "not nightly"

NIGHT ?= $(shell echo $$(($$(date +%s) / 86400)))
nightly: setup engine browser  ## Set up, then run what is long, with other seeds each day (NIGHT=… repeats one)
	COSQA_REQUIRE_DOCKER=1 COSQA_NIGHT=$(NIGHT) $(BIN)/pytest $(PARALLEL) -m nightly --hypothesis-seed=$(NIGHT)
	$(MAKE) chaos

SEEDS ?= 50
chaos: setup engine  ## Set up, then break annotation runs of 2,000 pairs by SEEDS=50 of the night's seeds (an hour)
	COSQA_NIGHT=$(NIGHT) $(BIN)/python -m tests.chaos --seeds $(SEEDS)

screenshots: setup engine browser  ## Set up, then walk through the Prefect UI and the sample's pages, and write the pages' screenshots
	COSQA_SCREENSHOTS=infra/deploy/screenshots $(BIN)/pytest tests/ui/test_walk.py tests/ui/test_sample_pages.py

lint: style types imports  ## ruff, mypy strict and the import rules, side by side
style types imports: $(READY)
style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
types:
	$(BIN)/mypy
imports:
	$(BIN)/lint-imports

format: $(READY)  ## Put the code into ruff's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

setup: $(READY)  ## Make the virtual environment

engine: $(BIN)/pip  ## Make sure of a Docker engine and of the sandbox image
	@PYTHON=$(BIN)/python infra/docker/ensure_engine.sh

browser: $(READY)  ## Make sure of a headless Chromium for the tests of pages
	infra/deploy/ensure_browser.sh

clean:  ## Remove the virtual environment and caches; stores and benchmarks stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "Python 3.11 is needed; name one with PYTHON=…")'
	@$(PYTHON) -m venv $(VENV)

# Not compiled: of 28,000 modules a run imports a few thousand, which Python compiles then.
$(READY): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "installing the packages of pyproject.toml into $(VENV) (some minutes, without a word)"
	@$(BIN)/pip install --quiet --quiet --no-compile --constraint constraints.txt --editable '.[dev]'
	@touch $@
