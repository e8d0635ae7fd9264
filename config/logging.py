"""The log: one line for each event, as JSON for a collector or as text for a terminal.

Every line of a request has the request's id, as do its response and its error page.
"""

from __future__ import annotations

import logging
from typing import Any, Literal

import structlog

Format = Literal["json", "text"]


def _without_request(logger: object, method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Remove the request object that Django adds; the id identifies the request."""
    event.pop("request", None)
    return event


SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    _without_request,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(format: str, level: str = "INFO") -> dict[str, Any]:
    """Return a configuration for the standard library's logging, which every library here uses."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": formatter, "format": format}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "lines"},
        },
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "tandem": {"level": level},
            # The pool logs every attempt to reach the database; Tandem logs the outcome.
            "psycopg.pool": {"level": "ERROR"},
            # Kombu warns that a folder's address has no host name.
            "kombu.connection": {"level": "ERROR"},
            # Django's own handlers would repeat every line.
            "django": {"handlers": [], "level": "WARNING", "propagate": True},
            # A refused request logs its reason itself, and a scanner's visit is not an incident.
            "django.request": {"level": "ERROR"},
            "django.security": {"level": "ERROR"},
            "django.security.DisallowedHost": {"level": "CRITICAL"},
            "django.server": {"handlers": [], "level": level, "propagate": True},
        },
    }


def formatter(format: str) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*SHARED, structlog.processors.format_exc_info],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *([_as_json()] if format == "json" else [_as_text()]),
        ],
    )


def _as_json() -> Any:
    return structlog.processors.JSONRenderer(ensure_ascii=False)


def _as_text() -> Any:
    return structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)
