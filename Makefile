# Two commands matter: `make serve` and `make test`. Everything else supports them.
# Needs Python 3.11 or newer, make, and a package registry that pip can reach.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

# Otherwise every process that is started compiles everything again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help serve try test test-all coverage census mutants fuzz check format bench bench-all screenshots docs client-typescript audit lock clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 19

serve: $(VENV)/.ready ## set up, and serve the memory of ~/.ricordo at http://127.0.0.1:8377
	@$(BIN)/ricordo serve

try: $(VENV)/.ready ## set up, and see it remember something in a throw-away store
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/try.sh

test: check ## set up, and run every check and the fast tests: some minutes
	@sh scripts/services.sh fast
	$(PYTEST) --tier fast

test-all: check ## the same, and the long tests: kills, brokers, browsers, fuzzing, every combination
	@sh scripts/services.sh all
	$(PYTEST) --tier all

coverage: $(VENV)/.ready-dev ## every test, counting the lines that run: at least 95 in 100; TIER=fast: 90
	@sh scripts/services.sh all
	$(PYTEST) --tier $(or $(TIER),all) --cov --cov-report=term --cov-fail-under=$(if $(filter fast,$(TIER)),90,95)

census: $(VENV)/.ready-dev ## what each test costs, and which is too dear for the fast tier; TIER=all
	@sh scripts/services.sh all
	$(BIN)/python scripts/census.py --tier $(or $(TIER),fast)

mutants: $(VENV)/.ready-dev ## break the twenty rules that matter most, one by one: do the fast tests see it?
	$(BIN)/python scripts/mutants.py

fuzz: $(VENV)/.ready-dev ## try hostile input on every reader for ten minutes; MINUTES=30, SEED=N, TESTS=FILE
	@sh scripts/services.sh fast
	$(BIN)/python scripts/fuzz.py --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED)) $(TESTS)

check: $(VENV)/.ready-dev ## formatting, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready-dev ## format the code, and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.ready-dev ## measure; prints figures, asserts nothing
	$(BIN)/python -m bench

bench-all: $(VENV)/.ready-dev ## measure everything into docs/report; BENCH_SET=FILE, QUICK=1, RESUME=1
	$(BIN)/python -m bench report $(if $(QUICK),--sizes quick) $(if $(BENCH_SET),--set $(BENCH_SET)) $(if $(RESUME),--resume)

screenshots: $(VENV)/.ready-dev ## retake docs/screenshots
	@sh scripts/services.sh browser
	$(BIN)/python -m scripts.screenshots

docs: $(VENV)/.ready-dev ## build the documentation as an offline site in site/
	$(BIN)/zensical build --strict --clean

client-typescript: $(VENV)/.ready-dev ## write what the TypeScript client derives from the service, and pack it
	@sh scripts/services.sh node
	$(BIN)/python scripts/typescript.py
	cd clients/typescript && npm pack

audit: $(VENV)/.ready-dev ## look for known faults of the pinned dependencies (needs the internet; 3: it could not look)
	$(BIN)/python scripts/audit.py

lock: $(VENV)/.ready-dev ## choose new versions for requirements/*.txt
	PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/lock.sh

clean: ## remove everything that make made
	rm -rf $(VENV) .setup.lock .venv-peers .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .cache site build dist clients/typescript/node_modules clients/typescript/dist

$(VENV)/.ready: requirements/base.txt requirements/uv.txt pyproject.toml
	@PYTHON="$(PYTHON)" sh scripts/setup.sh base
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready requirements/dev.txt requirements/weights.txt
	@PYTHON="$(PYTHON)" sh scripts/setup.sh dev
	@touch $@
