PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SECONDS ?=

# As many processes as tests/conftest.py says for `auto`; file by file, so that what a file sets up is set up once. A
# pool of threads in each would only be in the way of the others. Compiled modules are kept, whatever the environment
# says: else each of these processes, and of those that tests start, compiles everything anew.
TEST := OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

.PHONY: help demo test test-all bench check docs format install clean

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(VENV)/.installed  ## Show live answers about simulated users; SECONDS=30 ends by itself
	@$(BIN)/stream-ldp demo $(if $(SECONDS),--seconds $(SECONDS))

test: $(VENV)/.installed  ## Run the suite, on a real Kafka if Java and Maven are installed
	$(TEST)

test-all: $(VENV)/.installed  ## Run the suite with the long tests, chaos and soak, and with more examples; it takes hours
	$(TEST) -m "" --hypothesis-profile=full

bench: $(VENV)/.installed  ## Measure speed beside plain forms and peers, and how costs grow; needs Java and Maven
	$(BIN)/pip install --quiet --editable '.[bench]'
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.benchmarks.speed --write
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.benchmarks.growth --write

check: $(VENV)/.installed  ## Check format, lint, types and import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.installed  ## Build the documentation site in build/site, strictly
	$(BIN)/pip install --quiet --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(VENV)/.installed  ## Format the sources, and fix what lint can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

install: $(VENV)/.installed  ## Create .venv with the package and all its tools

# What an older Python has begun to install, no other would finish.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed, this is " + \
	sys.version.split()[0] + "; name another one, such as: make PYTHON=python3.12 install")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[analysis,demo,dev]'
	@touch $@

clean:  ## Remove .venv and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
