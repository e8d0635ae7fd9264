# Two commands do all the set-up: `make demo` shows Tandem, `make test` tests it.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
MANAGE := DEBUG=1 $(BIN)/python manage.py
PORT   ?= 8000

.PHONY: demo test lint types docs containers unit unit-sqlite unit-postgresql bench install \
	install-dev chromium serve worker beat clean help

help:
	@echo "make demo    install, load a made-up study, judge it, report, and open the site"
	@echo "make test    install what tests need, then style, types, docs, containers and all tests"
	@echo "make serve   the site as on a server, at http://127.0.0.1:$(PORT)/"
	@echo "make worker  a worker beside it, for judges that run in the background"
	@echo "make beat    a clock beside both; workers do without it"
	@echo "make bench   loading, exporting and serving, timed against other tools' figures"
	@echo "make docs    the documentation as a site, in var/docs"
	@echo "make clean   remove the virtual environment; var/ with your data stays"

demo: install
	@$(MANAGE) migrate --verbosity 0
	@$(MANAGE) demo --port $(PORT)

test: install-dev chromium lint types docs containers unit

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

# One more than two processors: many tests wait for others.
TESTERS ?= 3
# What does not touch the database that the tests are given is the same on either.
IN_CHROMIUM := $(addsuffix .py,$(addprefix browser/test_,access difference highlighter time_on_task))
SAME := $(addprefix --ignore=tests/,benchmarks containers docs statistics $(IN_CHROMIUM))

unit: unit-sqlite unit-postgresql

unit-sqlite: install-dev
	DEBUG=1 $(BIN)/python -m pytest -n $(TESTERS) --dist worksteal $(ARGS)

unit-postgresql: install-dev
	DEBUG=1 $(BIN)/python -m scripts.services run --only postgres --hurried -- \
		$(BIN)/python -m pytest -n $(TESTERS) --dist worksteal $(SAME) $(ARGS)

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
