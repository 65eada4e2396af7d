# make demo: environment, then every table at the demo scale.   make report: the HTML report.
# make test: environment, then tests, on both classes of x86.   make test-fast: those without Snakemake
# make bench: the peers' packages too, then the measurements.   make check: style, types, imports.

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin
CORES ?= all
TESTS ?= tests
MEASUREMENTS ?= scoring corpora decoding training
# Modules, not the scripts beside them: those name a folder that may have been moved since.
RUN := PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python -m
SNAKEMAKE := $(RUN) snakemake --cores $(CORES)
PYTEST := $(RUN) pytest --numprocesses 2 --dist loadfile
WITH_SNAKEMAKE := tests/workflow tests/cluster
AVX2_TESTS := tests/inference tests/model tests/training
# A processor with neither AVX-512 nor VNNI; tests/model/test_lanes.py sees that torch heeds it.
AVX2 := ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2

.PHONY: demo test test-fast test-avx2 bench report schema check
.DELETE_ON_ERROR:

demo: $(ENVIRONMENT)/pipeline.installed
	$(SNAKEMAKE)

report: $(ENVIRONMENT)/pipeline.installed
	$(SNAKEMAKE) report

test: $(ENVIRONMENT)/test.installed
	$(PYTEST) $(TESTS)
	$(if $(filter tests,$(TESTS)),@$(MAKE) --no-print-directory test-avx2)

test-fast: $(ENVIRONMENT)/test.installed
	$(PYTEST) -m "not slow" --session-timeout 120 $(addprefix --ignore=,$(WITH_SNAKEMAKE)) tests

test-avx2: $(ENVIRONMENT)/test.installed
	@if [ "$$(uname -m)" != x86_64 ]; then \
	    echo "AVX2 lane left out: this processor is no x86: $$(uname -m)"; \
	elif ! grep -qwE 'avx512f|avx_vnni' /proc/cpuinfo; then \
	    echo "AVX2 lane left out: this processor has neither AVX-512 nor VNNI, all tests ran so"; \
	else \
	    echo "AVX2 lane: $(AVX2)"; $(AVX2) $(PYTEST) $(AVX2_TESTS); \
	fi

bench: $(ENVIRONMENT)/bench.installed
	@set -e; for name in $(MEASUREMENTS); do echo "bench.$$name"; $(RUN) bench.$$name; done

check: $(ENVIRONMENT)/test.installed
	$(RUN) ruff check . && $(RUN) ruff format --check . && $(BIN)/python $(BIN)/lint-imports
	$(RUN) mypy
	$(RUN) snakefmt --check Snakefile workflow && $(SNAKEMAKE) --lint

schema: $(ENVIRONMENT)/pipeline.installed
	$(RUN) pipeline.config.json_schema

$(BIN)/python:
	@$(PYTHON) -c "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))" 2>/dev/null || \
	    { echo "Python 3.11 to 3.14 is needed; name one, as in: make PYTHON=python3.12 demo" \
	        "(found: $$($(PYTHON) --version 2>&1 || true))" >&2; exit 1; }
	@$(PYTHON) -c "import ensurepip, venv" 2>/dev/null || \
	    { echo "this Python can't make environments; on Debian and Ubuntu: apt install python3-venv" \
	        "(found: $$(command -v $(PYTHON)))" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(ENVIRONMENT)

$(ENVIRONMENT)/pipeline.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable . -c constraints.txt
	@touch $@

$(ENVIRONMENT)/%.installed: $(ENVIRONMENT)/pipeline.installed
	$(BIN)/python -m pip install --quiet --editable ".[$*]" -c constraints.txt
	@touch $@
