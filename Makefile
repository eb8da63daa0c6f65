# Two commands for newcomers: `make demo` and `make test`. Both set everything up in .venv first.
.DEFAULT_GOAL := help
.PHONY: help setup demo test nightly bench reproduce docs clean

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## install everything into .venv (once; again only when the pins change)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "lumpable needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version 2>&1)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(READY)  ## hide groups in a world, find them, draw what was found (pictures in demo/)
	$(BIN)/lumpable demo

test: $(READY)  ## format, lint, types and all tests
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/pytest -n 2 --dist worksteal -q -m "not nightly"

nightly: $(READY)  ## the same guarantees over ten times as many runs (about five minutes)
	$(BIN)/pytest -n 2 --dist worksteal -q -m nightly

bench: $(READY)  ## speed, as ratios, in one table
	$(BIN)/python benchmarks/speed.py

reproduce: $(READY)  ## measure every claim of the paper in full (ten minutes); page in docs/
	$(BIN)/lumpable reproduce --folder reproduce
	cp reproduce/index.html docs/reproduce.html
	cp reproduce/rows.parquet docs/reproduce.parquet

docs: $(READY)  ## make the generated pages of docs/ anew
	$(BIN)/python docs/generate.py
	$(BIN)/python tests/test_cli.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/guarantees.py

clean:  ## remove .venv and everything that was made
	rm -rf .venv dist build demo reproduce .mypy_cache .ruff_cache .pytest_cache .hypothesis
