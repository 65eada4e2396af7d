# make demo: environment, then every table at the demo scale.   make test: environment, then tests.
# make bench: the peers' packages too, then the measurements.    make report: the HTML report.

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin
CORES ?= all
TESTS ?= tests
MEASUREMENTS ?= scoring corpora decoding training
SNAKEMAKE := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/snakemake --cores $(CORES)

.PHONY: demo test bench report schema check

demo: $(ENVIRONMENT)/pipeline.installed
	$(SNAKEMAKE)

report: $(ENVIRONMENT)/pipeline.installed
	$(SNAKEMAKE) report

test: $(ENVIRONMENT)/test.installed
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest --numprocesses 2 --dist loadfile $(TESTS)

bench: $(ENVIRONMENT)/bench.installed
	@set -e; for name in $(MEASUREMENTS); do echo "bench.$$name"; $(BIN)/python -m bench.$$name; done

check: $(ENVIRONMENT)/test.installed
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports
	$(BIN)/snakefmt --check Snakefile workflow && $(SNAKEMAKE) --lint

schema: $(ENVIRONMENT)/pipeline.installed
	$(BIN)/python -m pipeline.config.json_schema

$(ENVIRONMENT)/bin/python:
	$(PYTHON) -m venv $(ENVIRONMENT)

$(ENVIRONMENT)/pipeline.installed: requirements.txt constraints.txt | $(ENVIRONMENT)/bin/python
	$(BIN)/python -m pip install --quiet -r requirements.txt -c constraints.txt
	@touch $@

$(ENVIRONMENT)/%.installed: requirements-%.txt $(ENVIRONMENT)/pipeline.installed
	$(BIN)/python -m pip install --quiet -r requirements-$*.txt -c constraints.txt
	@touch $@
