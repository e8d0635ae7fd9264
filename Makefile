# Two commands do all the set-up: `make demo` shows Tandem, `make test` tests it.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
MANAGE := DEBUG=1 $(BIN)/python manage.py
PORT   ?= 8000

.PHONY: demo test lint types unit install install-dev chromium serve clean help

help:
	@echo "make demo   install, load a made-up study, judge it, report, and open the site"
	@echo "make test   install what tests need, check style and types, run all tests"
	@echo "make serve  the site on http://127.0.0.1:$(PORT)/, with what is loaded"
	@echo "make clean  remove the virtual environment; var/ with your data stays"

demo: install
	@$(MANAGE) migrate --verbosity 0
	@$(MANAGE) demo --port $(PORT)

test: install-dev chromium lint types unit

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install-dev
	DEBUG=1 TANDEM_DATA_DIR=$(VENV)/checks $(BIN)/mypy .

unit: install-dev
	DEBUG=1 $(BIN)/python -m pytest -n 2 $(ARGS)

serve: install
	@$(MANAGE) migrate --verbosity 0
	DEBUG=1 $(BIN)/gunicorn config.wsgi --bind 127.0.0.1:$(PORT) --workers 2

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
