PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SECONDS ?=
T ?=

# As many processes as tests/conftest.py says for `auto`; file by file, so that what a file sets up is set up once. A
# pool of threads in each would only be in the way of the others. Compiled modules are kept, whatever the environment
# says: else each of these processes, and of those that tests start, compiles everything anew.
TEST := OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

# As the image has it: Linux, and the oldest Python. What is locked stays as it is where it can.
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --python-version 3.11 --no-emit-index-url --no-header --no-annotate

.PHONY: help demo test test-fast test-all bench check docs format lock audit sbom dist check-dist release install clean

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(VENV)/.demo  ## Show live answers about simulated users; SECONDS=30 ends by itself
	@$(BIN)/stream-ldp demo $(if $(SECONDS),--seconds $(SECONDS))

test: $(VENV)/.installed  ## Run the suite, on a real Kafka if Java and Maven are installed; T=tests/cli runs a part
	$(TEST) $(T)

test-fast: $(VENV)/.installed  ## Run what needs neither a broker nor long; T=tests/cli runs a part
	$(TEST) -m "not kafka and not long and not heavy" --hypothesis-profile=brief $(T)

test-all: $(VENV)/.installed  ## Run the suite with the long tests, chaos and soak, and with more examples; it takes hours
	$(BIN)/pip install --quiet --editable '.[recipes]'
	$(TEST) -m "" --hypothesis-profile=full

bench: $(VENV)/.installed  ## Measure speed beside plain forms and peers, and how costs grow; needs Java and Maven
	$(BIN)/pip install --quiet --editable '.[bench]'
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.benchmarks.speed --write
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.benchmarks.growth --write

check: $(VENV)/.installed  ## Check format, lint, types, import rules, and the code for what an attacker may use
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive stream_ldp docker

docs: $(VENV)/.installed  ## Build the documentation site in build/site, strictly
	$(BIN)/pip install --quiet --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(VENV)/.installed  ## Format the sources, and fix what lint can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(VENV)/.installed  ## Write docker/*.lock anew, by hash: every package of the image, what builds and what audits it
	$(BIN)/pip install --quiet --editable '.[release]'
	$(COMPILE) pyproject.toml --extra worker --extra gateway --output-file docker/requirements.lock
	$(COMPILE) docker/build.in --output-file docker/build.lock
	$(COMPILE) docker/release.in --output-file docker/release.lock

audit: build/release/.installed  ## Ask for advisories about every package of the image, and about what builds and audits it
	build/release/bin/pip-audit --require-hashes --disable-pip -r docker/requirements.lock
	build/release/bin/pip-audit --require-hashes --disable-pip -r docker/build.lock
	build/release/bin/pip-audit --require-hashes --disable-pip -r docker/release.lock

sbom: build/release/.installed  ## Write the bill of materials of the image (CycloneDX) into build/dist, from its lock
	@mkdir -p build/dist
	build/release/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --output-file \
	build/dist/stream-ldp.cdx.json docker/requirements.lock

dist: sbom  ## Build wheel and archive with the locked tools into build/dist, and write their digests
	$(PYTHON) -m venv build/tools
	build/tools/bin/pip install --quiet --require-hashes -r docker/build.lock
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) build/tools/bin/python -m build --no-isolation --outdir build/dist .
	cd build/dist && sha256sum *.whl *.tar.gz *.json >SHA256SUMS

# Not a part of dist: these tools are installed by ranges, and might change what a release signs.
check-dist: dist $(VENV)/.installed  ## Check the wheel and the archive as the package index does
	$(BIN)/pip install --quiet --editable '.[release]'
	$(BIN)/twine check --strict build/dist/*.whl build/dist/*.tar.gz
	$(BIN)/check-wheel-contents build/dist/*.whl

release:  ## Say whether VERSION=0.1.0 is ready to be released; with DO=yes, test, build, tag and push it
	@.ci/release "$(VERSION)" "$(DO)"

install: $(VENV)/.installed  ## Create .venv with the package and all its tools

# What an older Python has begun to install, no other would finish.
OLDER := $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed, this is " + \
	sys.version.split()[0] + "; name another one, such as: make PYTHON=python3.12 install")'
$(VENV)/.installed: pyproject.toml
	@$(OLDER)
	@echo "Installing the package and all tools of its developers into $(VENV): 1.3 GB, some minutes ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25,<27'
	$(BIN)/pip install --quiet --editable '.[analysis,demo,dev]'
	@touch $@

# The demo alone needs a tenth of what developers do; it is content with theirs.
$(VENV)/.demo: pyproject.toml
	@test -e $(VENV)/.installed || { $(OLDER) && $(PYTHON) -m venv $(VENV) && \
	echo "Installing what the demo needs into $(VENV): about 60 packages, a minute ..." && \
	$(BIN)/pip install --quiet --editable '.[demo]'; }
	@touch $@

build/release/.installed: docker/release.lock
	$(PYTHON) -m venv --clear build/release
	build/release/bin/pip install --quiet --require-hashes -r docker/release.lock
	@touch $@

clean:  ## Remove .venv and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
