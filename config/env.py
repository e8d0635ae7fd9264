"""The environment, read once and checked, with errors that say what to set."""

from __future__ import annotations

import os
import secrets
import warnings
import zoneinfo
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

ENGINES = ("django.db.backends.sqlite3", "django.db.backends.postgresql")
UNREADABLE_DATABASE = (
    "DATABASE_URL cannot be read; set it to postgresql://user:password@host/name or to "
    "sqlite:////path/to/a/file"
)


def flag(name: str, default: bool = False) -> bool:
    value = os.environ.get(name, "1" if default else "0").strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"", "0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} is {value!r}; set it to 1 or 0")


def whole_number(name: str, default: int) -> int:
    value = os.environ.get(name, str(default))
    if not value.isdigit() or int(value) < 1:
        raise ImproperlyConfigured(f"{name} is {value!r}; set it to a whole number above 0")
    return int(value)


def words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def time_zone() -> str:
    name = os.environ.get("TIME_ZONE", "UTC")
    if name not in zoneinfo.available_timezones():
        raise ImproperlyConfigured(f"TIME_ZONE is {name!r}; set it to a name such as Europe/Paris")
    return name


def data_dir() -> Path:
    return made(Path(os.environ.get("TANDEM_DATA_DIR") or BASE_DIR / "var").resolve())


def made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{folder} cannot be made ({error.strerror}); set TANDEM_DATA_DIR to a folder of yours"
        ) from error
    return folder


def secret_key(debug: bool, folder: Path) -> str:
    """SECRET_KEY; a development start makes one and keeps it, any other start must be given one."""
    if key := os.environ.get("SECRET_KEY"):
        return key
    if not debug:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set; set it to 50 random characters, or DEBUG=1 on your own machine"
        )
    return _kept_key(folder / "secret_key")


def _kept_key(path: Path) -> str:
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(50))
    except FileExistsError:
        pass
    return path.read_text("utf-8")


def database(folder: Path) -> dict[str, object]:
    """DATABASE_URL, by default a SQLite file. SQLite gets WAL and immediate transactions."""
    # environ warns of an engine that it does not know; the error below says it better.
    warnings.filterwarnings("ignore", message="Engine not recognized", module="environ")
    try:
        config = env.db("DATABASE_URL", default=f"sqlite:///{folder / 'tandem.sqlite3'}")
    except Exception as error:
        raise ImproperlyConfigured(UNREADABLE_DATABASE) from error
    if config.get("ENGINE") not in ENGINES:
        raise ImproperlyConfigured(UNREADABLE_DATABASE)
    options = config.setdefault("OPTIONS", {})
    if config["ENGINE"].endswith("sqlite3"):
        options |= {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
            ),
        }
    return dict(config)


def broker(folder: Path) -> dict[str, object]:
    """CELERY_BROKER_URL and its options, by default the file system broker under the data folder.

    The broker is a doorbell only: which work is due stands in the database.
    """
    url = os.environ.get("CELERY_BROKER_URL") or "filesystem://"
    if not url.startswith("filesystem:"):
        return {"url": url, "options": {}}
    queue, control = made(folder / "broker" / "queue"), made(folder / "broker" / "control")
    options = {
        "data_folder_in": str(queue),
        "data_folder_out": str(queue),
        "control_folder": str(control),
        "polling_interval": 0.2,
    }
    return {"url": url, "options": options}
