# Two commands do all the set-up: `make demo` shows Tandem, `make test` tests it.

PYTHON ?= python3
VENV   ?= .venv
VLLM   ?= .venv-vllm
BIN    := $(VENV)/bin
PORT   ?= 8000

.PHONY: demo check test test-all all-sqlite all-postgresql audit-asked lint types docs containers \
	unit unit-js unit-sqlite unit-postgresql beside vllm unit-vllm mutants bench lock audit images sbom release \
	install install-tests install-dev chromium serve worker beat clean help

help:
	@echo "make demo      install, apply a made-up study from one file, and open the site"
	@echo "make check     style, types, and the tests of what you changed: every few minutes"
	@echo "make test      install what tests need, then style, types, containers and the tests"
	@echo "make test-all  the same with every case, all of PostgreSQL, the long faults and vLLM"
	@echo "make mutants   how many of 300 mutations of the code the tests catch; SEED=1"
	@echo "make serve     the site as on a server, with workers, at http://127.0.0.1:$(PORT)/"
	@echo "make worker    one more worker, for judges that run in the background"
	@echo "make beat      a clock beside both; workers do the same work without it"
	@echo "make bench     loading, exporting and serving, timed against other tools' figures"
	@echo "make vllm      judges on vLLM itself, set up beside Tandem, with a tiny model"
	@echo "make lock      write the lock files again, after a change of requirements*.txt"
	@echo "make audit     known vulnerabilities of the locked packages, asked of a service and stored"
	@echo "make images    update the digests of the containers' images"
	@echo "make sbom      the bill of materials of a release, in var/sbom"
	@echo "make release   what a release needs: an audit of this week, and the bill of materials"
	@echo "make docs      the documentation as a site, in var/docs"
	@echo "make clean     remove what was installed; var/ with your data stays"

demo: install
	@$(BIN)/tandem demo --port $(PORT)

# Two at a time: the tests on SQLite, which take longest, and everything else, for which
# npm installs meanwhile what checks the JavaScript.
test: install-tests chromium
	@$(MAKE) --no-print-directory -j2 unit-sqlite beside

# One after the other, since each loads the machine as it is; one that fails stops none of the others.
test-all: install-dev chromium
	@$(MAKE) --no-print-directory -k lint types containers audit-asked unit-js all-sqlite all-postgresql vllm

all-sqlite: install-dev
	$(PYTEST) --all --ignore=tests/vllm $(ARGS)

all-postgresql: install-dev
	$(ON_POSTGRESQL) $(BIN)/python -m pytest -q --workers $(TESTERS) --all $(SAME) $(ARGS)

audit-asked: install-dev
	$(BIN)/python -m scripts.supply audit --ask

# Style, types and the tests of what differs from the last commit, or from SINCE.
check: install-dev
	$(LINT)
	@$(MAKE) --no-print-directory -j2 types unit-changed
	$(UNIT_JS)

# Without it each process that a test starts compiles our modules, and each tester all the tests, again.
unexport PYTHONDONTWRITEBYTECODE
# A pool of threads in each of the testers would only get into the others' way.
TESTERS ?= auto
export OPENBLAS_NUM_THREADS := 1
CHECKS := DEBUG=1 TANDEM_DATA_DIR=$(VENV)/checks
IMPORTS = found=$$($(CHECKS) $(BIN)/lint-imports --no-logo --cache-dir $(VENV)/imports) || { echo "$$found"; false; }
NODE := $(BIN)/node
LINT = $(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check . && $(IMPORTS) && $(LINT_JS)
LINT_JS = $(NODE) node_modules/@biomejs/biome/bin/biome check --log-level=warn
TYPES = BIN=$(BIN) $(CHECKS) sh scripts/types.sh && $(TYPES_JS)
TSC := $(NODE) node_modules/typescript/bin/tsc
TYPES_JS = $(TSC) -p tsconfig.json && $(TSC) -p tsconfig.logic.json
UNIT_JS = $(NODE) --test --test-isolation=none --test-reporter=dot 'tests/js/*.test.js'
DOCS = $(CHECKS) NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir var/docs
CONTAINERS = $(BIN)/hadolint Dockerfile && \
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose.yaml
PYTEST = DEBUG=1 $(BIN)/python -m pytest -q --workers $(TESTERS)
ON_POSTGRESQL = DEBUG=1 $(BIN)/python -m scripts.services run --only postgres --hurried --
PYTEST_VLLM = DEBUG=1 TANDEM_VLLM=$${TANDEM_VLLM:-$(VLLM)/bin/vllm} $(BIN)/python -m pytest -q tests/vllm
VLLM_IS_HERE = command -v $${TANDEM_VLLM:-$(VLLM)/bin/vllm} >/dev/null
# What does not touch the database that the tests are given is the same on either; single tests are left
# out by tests/conftest.py. All pages save by one way, which the one of Chromium's tests that is left
# tries on both.
IN_CHROMIUM := $(filter-out %/test_nothing_is_lost.py,$(wildcard tests/browser/test_*.py))
SAME := $(addprefix --ignore=,$(addprefix tests/,benchmarks containers docs scripts statistics vllm) $(IN_CHROMIUM))

lint: install-dev
	$(LINT)

types: install-dev
	$(TYPES)

docs: install-dev
	$(DOCS)
	@echo "The documentation: var/docs/index.html"

containers: install-dev
	$(CONTAINERS)

unit: unit-js unit-sqlite unit-postgresql

unit-js: install-dev
	$(UNIT_JS)

unit-sqlite: install-tests
	$(PYTEST) --ignore=tests/vllm --durations=30 $(ARGS)

unit-postgresql: install-dev
	$(ON_POSTGRESQL) $(BIN)/python -m pytest -q --workers 1 $(SAME) $(ARGS)

unit-changed: install-dev
	DEBUG=1 $(BIN)/python -m scripts.changed --since $(SINCE) -- \
		$(BIN)/python -m pytest -q --workers $(TESTERS) --quick $(ARGS)

SINCE ?= HEAD

# Uses vLLM where it is there, and says how to set it up where it is not.
unit-vllm: install-dev
	$(PYTEST_VLLM)

# The tests build the documentation and lint the containers' files. What is said on PostgreSQL comes in
# one piece, since the tests on SQLite print meanwhile.
beside: install-dev
	$(LINT)
	$(TYPES)
	$(UNIT_JS)
	@$(MAKE) --no-print-directory unit-postgresql >$(VENV)/postgresql.log 2>&1; \
		status=$$?; cat $(VENV)/postgresql.log; exit $$status
	@if $(VLLM_IS_HERE); then $(PYTEST_VLLM); \
		else echo "Not tested: judges on vLLM, which make vllm sets up"; fi

vllm: install-dev
	$(BIN)/python -m scripts.vllm --folder $(VLLM) --try
	$(PYTEST_VLLM)

# Writes the lock files again, with new versions of the packages in ARGS: ARGS="--upgrade-package django".
lock: install-dev
	@$(BIN)/python -m scripts.supply lock $(ARGS)

# Asks the service that knows of vulnerabilities in packages, and stores its answer.
audit: install-dev
	@$(BIN)/python -m scripts.supply audit --renew $(ARGS)

images: install-dev
	@$(BIN)/python -m scripts.supply images

sbom: install-dev
	@$(BIN)/python -m scripts.supply sbom $(ARGS)

# Fails where nobody asked about known vulnerabilities in the last days, as on a machine without internet.
release: install-dev
	@$(BIN)/python -m scripts.supply audit --release
	@$(BIN)/python -m scripts.supply sbom $(ARGS)

mutants: install-dev
	$(BIN)/python -m scripts.mutants run --seed $(SEED) --count 300 $(ARGS)

SEED ?= 1

bench: install-dev
	$(BIN)/python -m benchmarks

serve: install
	@$(BIN)/tandem serve --port $(PORT)

worker: install
	@$(BIN)/tandem worker

beat: install
	DEBUG=0 TANDEM_PLAIN_HTTP=1 TANDEM_LOG_FORMAT=text $(BIN)/celery -A config beat --loglevel INFO

# Only files whose hashes stand in a lock. uv takes what it has in seconds; where it cannot reach
# what pip is set up for, pip does it. What comes as source is built with the locked setuptools.
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install
LOCKED := --require-hashes --no-build-isolation
INSTALL = { $(BIN)/uv pip install --quiet --python $(BIN)/python $(LOCKED) -r $(1); } || $(PIP) $(LOCKED) -r $(1)

install: $(VENV)/.installed $(VENV)/.program
install-tests: $(VENV)/.installed-dev $(VENV)/.program
install-dev: install-tests node_modules/.installed

# `.venv/bin/tandem` runs what stands here, from any folder.
PROGRAM := --no-deps --no-build-isolation --editable .
$(VENV)/.program: $(VENV)/.installed pyproject.toml
	@{ $(BIN)/uv pip install --quiet --python $(BIN)/python $(PROGRAM); } || $(PIP) $(PROGRAM)
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Tandem needs Python 3.11 or newer; set PYTHON=/path/to/it"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python requirements.lock requirements-build.lock
	@echo "Installing what Tandem runs on (about a minute the first time) …"
	@$(PIP) --require-hashes -r requirements-build.lock
	@$(call INSTALL,requirements.lock)
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	@echo "Installing what the tests need …"
	@$(call INSTALL,requirements-dev.lock)
	@touch $@

# Node and npm come from requirements-dev.lock, and what they run from npm's own lock.
node_modules/.installed: $(VENV)/.installed-dev package.json package-lock.json
	@$(BIN)/npm ci --ignore-scripts --loglevel error >/dev/null \
		|| { echo "npm could not fetch what checks the JavaScript."; exit 1; }
	@touch $@

chromium: install-tests
	@BIN=$(BIN) sh scripts/chromium.sh

clean:
	rm -rf $(VENV) node_modules
