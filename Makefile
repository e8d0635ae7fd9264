# Two commands do all the set-up: `make demo` shows Tandem, `make test` tests it.

PYTHON ?= python3
VENV   ?= .venv
VLLM   ?= .venv-vllm
BIN    := $(VENV)/bin
MANAGE := DEBUG=1 $(BIN)/python manage.py
PORT   ?= 8000

.PHONY: demo test lint types docs containers unit unit-sqlite unit-postgresql faults bench install \
	install-dev chromium serve worker beat clean help vllm unit-vllm

help:
	@echo "make demo    install, load a made-up study, judge it, report, and open the site"
	@echo "make test    install what tests need, then style, types, docs, containers and all tests"
	@echo "make serve   the site as on a server, at http://127.0.0.1:$(PORT)/"
	@echo "make worker  a worker beside it, for judges that run in the background"
	@echo "make beat    a clock beside both; workers do without it"
	@echo "make faults  the faults that take minutes, on both databases"
	@echo "make bench   loading, exporting and serving, timed against other tools' figures"
	@echo "make vllm    judges on vLLM itself, set up beside Tandem, with a tiny model"
	@echo "make docs    the documentation as a site, in var/docs"
	@echo "make clean   remove the virtual environment; var/ with your data stays"

demo: install
	@$(MANAGE) migrate --verbosity 0
	@$(MANAGE) demo --port $(PORT)

test: install-dev chromium lint types docs containers unit unit-vllm

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install-dev
	DEBUG=1 TANDEM_DATA_DIR=$(VENV)/checks $(BIN)/mypy .

docs: install-dev
	DEBUG=1 NO_MKDOCS_2_WARNING=1 TANDEM_DATA_DIR=$(VENV)/checks $(BIN)/mkdocs build --quiet --strict --site-dir var/docs
	@echo "The documentation: var/docs/index.html"

containers: install-dev
	$(BIN)/hadolint Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec compose.yaml

# Without it each process that a test starts compiles our modules, and each tester all the tests, again.
unexport PYTHONDONTWRITEBYTECODE
# One more than two processors: many tests wait for others.
TESTERS ?= 3
# What does not touch the database that the tests are given is the same on either; single tests are left
# out by tests/conftest.py. All pages save by one way, which the one of Chromium's tests that is left
# tries on both.
IN_CHROMIUM := $(filter-out %/test_nothing_is_lost.py,$(wildcard tests/browser/test_*.py))
SAME := $(addprefix --ignore=,$(addprefix tests/,benchmarks containers docs statistics vllm) $(IN_CHROMIUM))

unit: unit-sqlite unit-postgresql

unit-sqlite: install-dev
	DEBUG=1 $(BIN)/python -m pytest -n $(TESTERS) --dist worksteal --ignore=tests/vllm $(ARGS)

unit-postgresql: install-dev
	DEBUG=1 $(BIN)/python -m scripts.services run --only postgres --hurried -- \
		$(BIN)/python -m pytest -n $(TESTERS) --dist worksteal $(SAME) $(ARGS)

# Alone, since it takes the whole machine. `make test` uses vLLM where it is there, and says how to set
# it up where it is not; in CI it sets it up by itself, if its wheels can be had.
unit-vllm: install-dev
	$(BIN)/python -m scripts.vllm --folder $(VLLM) --try --if-ci
	DEBUG=1 TANDEM_VLLM=$${TANDEM_VLLM:-$(VLLM)/bin/vllm} $(BIN)/python -m pytest tests/vllm

vllm: install-dev
	$(BIN)/python -m scripts.vllm --folder $(VLLM) --try
	$(MAKE) unit-vllm

# One after the other: they load the machine as it is.
faults: install-dev
	DEBUG=1 $(BIN)/python -m pytest --long -m long $(ARGS)
	DEBUG=1 $(BIN)/python -m scripts.services run --only postgres --hurried -- \
		$(BIN)/python -m pytest --long -m long $(ARGS)

bench: install-dev
	$(BIN)/python -m benchmarks

# The settings of a server, but for TLS, which nobody has on his own machine.
serve worker beat: export DEBUG = 0
serve worker beat: export TANDEM_PLAIN_HTTP = 1
serve worker beat: export TANDEM_LOG_FORMAT ?= text
serve: export BIND ?= 127.0.0.1:$(PORT)

serve: install
	@$(BIN)/python manage.py migrate --verbosity 0
	@$(BIN)/python manage.py collectstatic --noinput --verbosity 0
	$(BIN)/gunicorn -c config/gunicorn.py config.wsgi

worker: install
	$(BIN)/celery -A config worker --concurrency 1 --loglevel INFO

beat: install
	$(BIN)/celery -A config beat --loglevel INFO

install: $(VENV)/.installed
install-dev: $(VENV)/.installed-dev

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Tandem needs Python 3.11 or newer; set PYTHON=/path/to/it"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python requirements.txt
	@echo "Installing what Tandem runs on (about a minute) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.txt
	@echo "Installing what the tests need …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

chromium: install-dev
	@BIN=$(BIN) sh scripts/chromium.sh

clean:
	rm -rf $(VENV)
