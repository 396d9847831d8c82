# The commands of a working day. Everything they need is installed into .venv, by make itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input

.PHONY: demo test trials check bench clean
.DEFAULT_GOAL := test

# A whole run on the embedded scripted model: no key, no network, no cost.
demo: $(VENV)/.run-stamp
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo.sh

# More tests at a time than a small machine has cores, for some of them always wait.
# `loadgroup` lets tests that can't share the machine say so: @pytest.mark.xdist_group("name").
test: check
	@$(BIN)/python -m pytest -n 3 --dist loadgroup --no-header -q

# The long trials: a flood, a crowd, an outage of a minute, forty kills, a flow that goes on and on.
trials: $(VENV)/.dev-stamp
	@$(BIN)/python -m pytest -m long --no-header -q

check: $(VENV)/.dev-stamp
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary
	@report=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$report"; exit 1; }

bench: $(VENV)/.dev-stamp
	@$(BIN)/python -m tests.bench

clean:
	@rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two stamps, so that a first look at the demo doesn't wait for the developers' tools. A .venv that was
# left half made has no pip, and is made anew.
$(VENV)/.run-stamp: pyproject.toml
	@test -x $(BIN)/pip || { echo "making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "installing flower into $(VENV)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev-stamp: $(VENV)/.run-stamp
	@echo "installing the developers' tools into $(VENV)"
	@$(PIP) --editable '.[dev]'
	@touch $@
