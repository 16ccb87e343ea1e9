# Everything starts from Python >= 3.11, make and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DOCS_INSTALLED := $(VENV)/.docs-installed
RELEASE_INSTALLED := $(VENV)/.release-installed
OLDEST := .venv-oldest
# Two workers leave room for the BLAS and joblib threads that some tests start.
WORKERS ?= 2
# Not from benchmarks/, whose folder asv/ would be imported in its place.
ASV := $(BIN)/python -m asv --config benchmarks/asv.conf.json
# Commits that `make speed` compares.
BASE ?= main
NEW ?= HEAD
# Small problems that an interpreter can solve.
UNCOMPILED := $(addprefix tests/, solvers/test_uncompiled.py solvers/test_methods.py solvers/dual \
	solvers/newton/test_directions.py bootstrap/classes/test_calls_rows.py bootstrap/summaries \
	selection/test_proof.py)

.DEFAULT_GOAL := help
.PHONY: help setup demo picture test test-oldest coverage uncompiled dist lint format bench speed docs clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' \
		| while IFS='|' read -r name text; do printf '  make %-11s %s\n' "$$name" "$$text"; done

setup: $(INSTALLED) ## create .venv with svmproba and everything the tests need

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "svmproba needs Python 3.11 or newer, and '$(PYTHON)' is not:" \
		     "name another one with 'make PYTHON=python3.12 $(MAKECMDGOALS)'" >&2; exit 1; }
	@echo "setting up $(VENV) (a few minutes the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q -e ".[test,plot]"
	@touch $@

demo: setup ## fit EBB on wisconsin under the paper's protocol; figures go to out/
	$(BIN)/python -m svmproba.paper.demo --out out

picture: demo ## renew the picture in the README from the demo's output
	mkdir -p docs/images
	cp out/overview.png docs/images/readme.png

lint: setup ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint ## lint, types, tests and doctests
	$(BIN)/python -m pytest -n $(WORKERS)

# Beside the package, compiled code of two versions of Numba would overwrite each other.
test-oldest: $(OLDEST)/.installed ## the tests with the least versions of all dependencies
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba $(OLDEST)/bin/python -m pytest -n $(WORKERS) tests

$(OLDEST)/.installed: pyproject.toml constraints/oldest.txt
	@$(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install -q -e ".[all,test]" -c constraints/oldest.txt
	@touch $@

coverage: $(RELEASE_INSTALLED) ## the tests, with lines and branches counted; HTML in out/coverage/html
	rm -rf out/coverage
	$(BIN)/python -m coverage run -m pytest -n $(WORKERS)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage html -q
	$(BIN)/python -m coverage report

uncompiled: $(RELEASE_INSTALLED) ## the solvers without compilation: bounds are checked, lines counted
	rm -rf out/uncompiled
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --rcfile=tools/uncompiled.ini -m pytest -q \
		-W ignore::RuntimeWarning $(UNCOMPILED)
	$(BIN)/python -m coverage html -q --rcfile=tools/uncompiled.ini
	$(BIN)/python -m coverage report --rcfile=tools/uncompiled.ini

dist: $(RELEASE_INSTALLED) ## build the packages and try them in empty environments
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/check_dist.py dist

$(RELEASE_INSTALLED): $(INSTALLED)
	@echo "adding what a release is made with"
	@$(BIN)/python -m pip install -q -e ".[release]"
	@touch $@

format: setup ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## the race against scikit-learn (data: SVMPROBA_DATA=folder)
	$(BIN)/python benchmarks/fit_race.py

speed: $(RELEASE_INSTALLED) ## fit times of two commits and of scikit-learn's SVMs: BASE=main NEW=HEAD
	$(ASV) machine --yes
	$(ASV) continuous --show-stderr --factor 1.15 $(BASE) $(NEW)

docs: $(DOCS_INSTALLED) ## build the guide in docs/_build/html
	$(BIN)/python -m sphinx -q -E -W --keep-going docs docs/_build/html
	@echo "open docs/_build/html/index.html"

$(DOCS_INSTALLED): $(INSTALLED)
	@echo "adding what the guide is built with"
	@$(BIN)/python -m pip install -q -e ".[docs]"
	@touch $@

clean: ## remove the environment, caches and output
	rm -rf $(VENV) $(OLDEST) out build dist docs/_build docs/generated docs/auto_examples .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
