# Two commands for newcomers: `make demo` and `make test`. Both set everything up in .venv first.
.DEFAULT_GOAL := help
.PHONY: help setup demo test nightly bench reproduce compare docs clean

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BROWSER := .venv/.browser

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## install everything into .venv (once; again only when the pins change)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "lumpable needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version 2>&1)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
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

demo: $(READY)  ## hide groups in a world, find them, draw what was found (pictures in demo/)
	$(BIN)/lumpable demo

test: $(READY) $(BROWSER)  ## format, lint, types and all tests
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/pytest -n 2 --dist worksteal -q -m "not nightly"

nightly: $(READY)  ## the same guarantees over ten times as many runs (about five minutes)
	$(BIN)/pytest -n 2 --dist worksteal -q -m nightly

bench: $(READY)  ## speed, as ratios, in two tables
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/learner_speed.py

reproduce: $(READY)  ## measure every claim of the paper in full (ten minutes); page in docs/
	$(BIN)/lumpable reproduce --folder reproduce
	cp reproduce/index.html docs/reproduce.html
	cp reproduce/rows.parquet docs/reproduce.parquet

compare: $(READY)  ## the quick suite: every learner on every kind of world; page in docs/
	$(BIN)/lumpable compare suite --quick --out compare/rows.parquet
	$(BIN)/lumpable report compare/rows.parquet --out docs/compare.html
	$(BIN)/python docs/suite.py compare/rows.parquet

docs: $(READY)  ## make the generated pages of docs/ anew
	$(BIN)/python docs/generate.py
	$(BIN)/python tests/test_cli.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/guarantees.py

clean:  ## remove .venv and everything that was made
	rm -rf .venv dist build demo reproduce compare practical .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis
