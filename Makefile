# signalstorm: `make tune` and `make test` work in a fresh clone with Python 3.11 or newer and make.

PYTHON ?= python3
VENV ?= .venv
SCENARIO ?= incident-2014
# What the tests need beside the package itself, as extras of pyproject.toml separated by commas.
TEST_EXTRAS ?= dev,rl,web
# The share of the product's lines that the quick tests must reach, in per cent.
COVERAGE ?= 90
PYTEST_ARGS ?=
# Processes that run the quick tests side by side, a file of tests each; each takes a gigabyte.
WORKERS ?= 2
# The scenarios whose runs docs/gallery.md shows.
GALLERY ?= lab-pcrf incident-2014

BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.DELETE_ON_ERROR:
.PHONY: help tune test lint quick-tests validate bench gallery clean

help:
	@echo 'make tune [SCENARIO=$(SCENARIO)]   find the best settings for a storm, into runs/$(SCENARIO)/'
	@echo 'make test        lint, types, layers and the quick tests with coverage'
	@echo 'make validate    the long statistical and end-to-end checks'
	@echo 'make bench       speed ratios, measured side by side'
	@echo 'make gallery     the figures of two runs, into docs/gallery/; needs Chrome or Chromium'
	@echo 'make clean       remove .venv, caches and build products; runs/ stays'

tune: $(VENV)/.installed-product
	$(BIN)/signalstorm tune $(SCENARIO) --out runs/$(SCENARIO)

test: lint quick-tests

lint: $(VENV)/.installed-$(TEST_EXTRAS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Coverage learns from Numba which kernel lines are compiled: hence the switch and an empty kernel cache. The tests that
# start and kill processes come last, one after another, added to what was measured before.
quick-tests: $(VENV)/.installed-$(TEST_EXTRAS)
	cache=$$(mktemp -d) && trap 'rm -rf "$$cache"' EXIT && \
	export SIGNALSTORM_CACHE_DIR="$$cache" NUMBA_JIT_COVERAGE=1 && \
	{ $(BIN)/pytest -m 'not long and not processes' -n $(WORKERS) --dist loadfile --cov --cov-report= $(PYTEST_ARGS) || [ $$? = 5 ]; } && \
	{ $(BIN)/pytest -m 'processes and not long' --cov --cov-append --cov-report=term \
	    --cov-fail-under=$(COVERAGE) $(PYTEST_ARGS) || [ $$? = 5 ]; }

validate: $(VENV)/.installed-$(TEST_EXTRAS)
	$(BIN)/pytest -m long --timeout=0 $(PYTEST_ARGS)

bench: $(VENV)/.installed-$(TEST_EXTRAS)
	$(BIN)/signalstorm bench

# A search says with 1 that its setting is worse on a storm that it has not seen; its figures are worth a look all the same.
gallery: $(VENV)/.installed-figures
	for scenario in $(GALLERY); do \
	    { $(BIN)/signalstorm tune $$scenario --out runs/$$scenario -q > /dev/null || [ $$? = 1 ]; } && \
	    $(BIN)/signalstorm report runs/$$scenario --figures docs/gallery/$$scenario --format svg || exit; \
	done

clean:
	rm -rf $(VENV) dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up is repeated only when what it depends on has changed.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "signalstorm needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
	    echo "Name a newer one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed-product: pyproject.toml constraints.txt | $(VENV)/.created
	@echo 'Installing signalstorm into $(VENV); the first time this takes about a minute.'
	$(INSTALL) .
	@touch $@

$(VENV)/.installed-figures: pyproject.toml constraints.txt | $(VENV)/.created
	$(INSTALL) '.[figures]'
	@touch $@

$(VENV)/.installed-$(TEST_EXTRAS): pyproject.toml constraints.txt | $(VENV)/.created
	@echo 'Installing signalstorm and its tests into $(VENV); the first time this takes about a minute.'
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	@touch $@
