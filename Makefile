# Two commands for newcomers: `make demo` and `make test`. Both set up what they need in .venv first.
# Another Python: `make test PYTHON=python3.13` (in an environment of its own, .venv-3.13).
.DEFAULT_GOAL := help
.PHONY: help setup demo test check docs nightly bench reproduce compare pictures hooks release clean

PYTHON ?= python3
ROOM ?= plans
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
BIN := $(VENV)/bin
LIGHT := $(VENV)/.light
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser
COMPILED := $(VENV)/.compiled
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## install everything into .venv (once; again only when the pins change)

# Light: the package, its pictures and its service, enough to see what it does.
$(LIGHT): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "lumpable needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version 2>&1)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[plot,serve]'
	@touch $@

# Ready: everything that tests, docs and benchmarks need.
$(READY): $(LIGHT)
	$(INSTALL) '.[dev]'
	@touch $@

# The pages are tested in a real browser: one that is there, or Debian's where we may install it.
$(BROWSER): $(READY)
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  command -v $$name >/dev/null && exit 0; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -qq --yes --no-install-recommends chromium >/dev/null; \
	fi || echo "no browser could be installed: the tests in a browser will not be run"
	@touch $@

# What tests call is compiled by all processors at once, before the first of them waits for it.
$(COMPILED): $(READY)
	$(BIN)/python tools/compiled.py
	@touch $@

demo: $(LIGHT)  ## a shop with hidden tastes plays against a running service: a minute; page in demo/
	$(BIN)/lumpable demo

test: $(READY) $(BROWSER) $(COMPILED)  ## format, lint, types and all tests
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary --num-workers 2
	$(BIN)/pytest -n 2 --dist worksteal -q -m "not nightly"

check: $(READY)  ## one room in under a minute: format, lint, types, quick tests (ROOM=plans)
	@$(BIN)/python tools/check.py $(ROOM)

docs: $(READY)  ## build the documentation into site/ (open site/index.html)
	$(BIN)/sphinx-build -q -W --keep-going -d $(VENV)/doctrees docs site
	@echo "open site/index.html"

nightly: $(READY)  ## the same guarantees over ten times as many runs (long: one calls a service for ten minutes)
	$(BIN)/pytest -n 2 --dist worksteal -q -m nightly

bench: $(READY)  ## speed, as ratios, in two tables
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/learner_speed.py

reproduce: $(READY)  ## measure every claim of the paper in full (ten minutes); page in reproduce/
	$(BIN)/lumpable reproduce --folder reproduce

compare: $(READY)  ## the quick suite: every learner on every kind of world; page in compare/
	$(BIN)/lumpable compare suite --quick --out compare/rows.parquet
	$(BIN)/lumpable report compare/rows.parquet --out compare/index.html
	$(BIN)/python tools/suite.py compare/rows.parquet

pictures: $(READY)  ## draw the pictures of the documentation anew (half a minute)
	$(BIN)/python tools/pictures.py

hooks:  ## check format, lint and types before every commit
	git config core.hooksPath tools/hooks

release: $(READY)  ## build wheel and sdist into dist/ and try the wheel in a clean environment
	$(BIN)/python tools/release.py

clean:  ## remove the environments and everything that was made
	rm -rf .venv .venv-* site dist build demo reproduce compare practical .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis
