"""Read and check environment variables, with errors that say what to set."""

from __future__ import annotations

import os
import secrets
import warnings
import zoneinfo
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from config.front.thread_pools import threads_of_pools
from datasets.private_files import NotPrivateError, close
from tandem.place import data_folder, set_umask

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

# Name: default and meaning. The documentation is generated from this.
VARIABLES = {
    "DEBUG": ("0", "1 for development on your own machine, never on a server."),
    "SECRET_KEY": (
        "none",
        "At least 50 random characters; required, except with DEBUG=1 or plain HTTP.",
    ),
    "ALLOWED_HOSTS": ("none", "The host names that the site answers to, separated by commas."),
    "CSRF_TRUSTED_ORIGINS": ("none", "Other origins from which forms may be sent."),
    "DATABASE_URL": ("a SQLite file", "postgresql://user:password@host/name, or sqlite:////file."),
    "TANDEM_POOL_SIZE": (
        "10",
        "PostgreSQL connections per process; at least one for each thread.",
    ),
    "CELERY_BROKER_URL": ("the file system", "redis://host:port/0 for Redis or Valkey."),
    "CELERY_RESULT_BACKEND": ("none", "Not needed, since results are in the database."),
    "TIME_ZONE": ("UTC", "The time zone that pages show times in, such as Europe/Paris."),
    "TANDEM_DATA_DIR": (
        "var/ in a checkout, else the folder for data of the user",
        "The folder for everything that Tandem writes.",
    ),
    "TANDEM_STATIC_DIR": (
        "static/ in the data folder",
        "The folder for the files of collectstatic.",
    ),
    "TANDEM_MAX_UPLOAD_MB": (
        "200",
        "The maximum size of an upload, all files together.",
    ),
    "TANDEM_JOB_PLACES": ("2", "Reports that one worker computes at a time, beside short jobs."),
    "TANDEM_JOB_MEMORY_MB": ("2048", "The memory that computing one of them may take."),
    "TANDEM_JOB_RESULTS_MB": ("4096", "Room for their results, which are kept to be shown again."),
    "TANDEM_JUDGE_HOSTS": ("none", "host:port of private judges that the browser may define."),
    "TANDEM_PROLIFIC_KEYS": (
        "https://api.prolific.com/.well-known/study/jwks.json",
        "The address of the keys with which Prolific signs links.",
    ),
    "TANDEM_VLLM": ("vllm", "The program that serves judges of the backend vllm."),
    "TANDEM_VLLM_ARGS": (
        "none",
        "Options of that program for this machine, after the judge's own.",
    ),
    "TANDEM_VLLM_WHEELS": ("none", "A folder or page with wheels, for python -m scripts.vllm."),
    "TANDEM_COMMIT": (
        "the checkout's commit",
        "The commit that reports and manifests name.",
    ),
    "TANDEM_PROXIES": ("0", "The number of your own proxies in front, which set X-Forwarded-*."),
    "TANDEM_PLAIN_HTTP": ("0", "1 to serve without TLS, only on your own machine."),
    "TANDEM_LOG_FORMAT": ("json", "The format of the log: json or text; text with DEBUG=1."),
    "TANDEM_PASSWORDS": ("1", "0 to switch local passwords off, once people log in by OIDC."),
    "TANDEM_SECOND_FACTOR": ("none", "Roles that need a second factor, such as admin,researcher."),
    "TANDEM_OIDC_ISSUER": ("none", "The address of an OpenID Connect provider for log-ins."),
    "TANDEM_OIDC_CLIENT": ("none", "The site's client id there."),
    "TANDEM_OIDC_SECRET": ("none", "The site's client secret there."),
    "TANDEM_OIDC_NAME": ("your organisation", "The provider's name on the log-in button."),
    "TANDEM_OIDC_NEWCOMERS": (
        "none",
        "The role of accounts for people the site does not know: none, annotator or researcher.",
    ),
    "BIND": ("127.0.0.1:8000", "The address on which gunicorn listens."),
    "TANDEM_ADDRESS_CONNECTIONS": (
        "500",
        "Connections from one address to a web process; 0 for no limit, behind a proxy that the "
        "site does not count. There is none with TANDEM_PROXIES.",
    ),
    "WEB_WORKERS": ("2", "Web server processes."),
    "WEB_OTHER_WORKERS": (
        "1",
        "Further processes for all requests except work on items; 0 on small machines.",
    ),
    "WEB_THREADS": ("3", "Threads in each of them that open and save items."),
    "WEB_OTHER_THREADS": ("3", "Threads in each of them for all other requests."),
    "TANDEM_WITH_WORKERS": ("0", "1 to have gunicorn run the workers too, on one machine."),
}

ENGINES = ("django.db.backends.sqlite3", "django.db.backends.postgresql")
UNREADABLE_DATABASE = (
    "DATABASE_URL cannot be read; set it to postgresql://user:password@host/name or to "
    "sqlite:////path/to/a/file"
)
ROLES = ("annotator", "researcher", "admin")
LEAST_KEY, LEAST_DIFFERENT = 50, 8
GUESSABLE_KEYS = ("django-insecure", "secret", "changeme", "change-me", "password", "example")
NEW_KEY = "python -c 'import secrets; print(secrets.token_urlsafe(50))' prints one"


def read(name: str, default: str = "") -> str:
    """Return a variable's value. Raises KeyError if VARIABLES does not list it."""
    if name not in VARIABLES:
        raise KeyError(f"{name} is missing from VARIABLES")
    return os.environ.get(name) or default


def flag(name: str, default: str = "0") -> bool:
    value = read(name, default).strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"", "0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} is {value!r}; set it to 1 or 0")


def whole_number(name: str, least: int = 1) -> int:
    value = read(name, VARIABLES[name][0])
    if not value.isascii() or not value.isdigit() or int(value) < least:
        bounds = f"{least} or more" if least else "0 or more"
        raise ImproperlyConfigured(f"{name} is {value!r}; set it to a whole number, {bounds}")
    return int(value)


def most_connections_of_address() -> int:
    """Return the limit per address; 0 where all connections come from the site's own proxy."""
    if whole_number("TANDEM_PROXIES", least=0):
        return 0
    return whole_number("TANDEM_ADDRESS_CONNECTIONS", least=0)


def words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in read(name, default).split(",") if word.strip()]


def one_of(name: str, default: str, *allowed: str) -> str:
    value = read(name, default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name} is {value!r}; set it to {' or '.join(allowed)}")
    return value


def roles(name: str) -> list[str]:
    found = [role for role in words(name) if role != "none"]
    if wrong := [role for role in found if role not in ROLES]:
        raise ImproperlyConfigured(f"{name} has {wrong[0]!r}; roles are {', '.join(ROLES)}")
    return found


def single_sign_on() -> dict[str, str]:
    """Return the settings of the OpenID Connect provider; empty strings if there is none."""
    names = ("TANDEM_OIDC_ISSUER", "TANDEM_OIDC_CLIENT", "TANDEM_OIDC_SECRET")
    issuer, client, secret = map(read, names)
    if not (issuer or client or secret):
        return {"issuer": "", "client": "", "secret": "", "name": ""}
    for name in names:
        if not read(name):
            raise ImproperlyConfigured(
                f"{name} is not set; log-in by OIDC needs {', '.join(names)}"
            )
    said = read("TANDEM_OIDC_NAME", VARIABLES["TANDEM_OIDC_NAME"][0])
    return {
        "issuer": address("TANDEM_OIDC_ISSUER").rstrip("/"), "client": client, "secret": secret,
        "name": said,
    }  # fmt: skip


def passwords(issuer: str) -> bool:
    on = flag("TANDEM_PASSWORDS", "1")
    if not on and not issuer:
        raise ImproperlyConfigured("TANDEM_PASSWORDS is 0, but TANDEM_OIDC_ISSUER is not set")
    return on


def address(name: str) -> str:
    """Return an HTTPS address, or one of this machine over plain HTTP."""
    value = read(name, VARIABLES[name][0])
    parts = urlsplit(value)
    if (parts.scheme == "https" and parts.netloc) or _is_local(parts):
        return value
    raise ImproperlyConfigured(f"{name} is {value!r}; set it to an address with https://")


def _is_local(parts: SplitResult) -> bool:
    return parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")


def threads_of_web_process() -> int:
    """Return how many threads of a web process may use the database at once."""
    threads = threads_of_pools(whole_number("WEB_THREADS"), whole_number("WEB_OTHER_THREADS"))
    return sum(threads.values())


def time_zone() -> str:
    name = read("TIME_ZONE", "UTC")
    if name not in zoneinfo.available_timezones():
        raise ImproperlyConfigured(f"TIME_ZONE is {name!r}; set it to a name such as Europe/Paris")
    return name


def data_dir() -> Path:
    folder = Path(read("TANDEM_DATA_DIR") or data_folder())
    return create_folder(folder.resolve(), parents=0o755)


def private_data_dir() -> tuple[Path, str]:
    """Return the data folder, closed to other accounts, and a line if it was open before.

    The umask is set again, since a server that became a daemon has set its own.
    """
    set_umask()
    folder = data_dir()
    found = database(folder)
    file = Path(str(found["NAME"])) if found["ENGINE"] == "config.sqlite" else None
    try:
        return folder, close(folder, static_dir(folder), file)
    except NotPrivateError as error:
        raise ImproperlyConfigured(str(error)) from error


def static_dir(folder: Path) -> Path:
    """Return the folder for static files, which a proxy may read."""
    return create_folder(
        Path(read("TANDEM_STATIC_DIR") or folder / "static").resolve(), 0o755, 0o755
    )


def create_folder(folder: Path, mode: int = 0o700, parents: int = 0o700) -> Path:
    """Create a folder and its parents with these modes, whatever the umask."""
    try:
        for parent in [each for each in reversed(folder.parents) if not each.exists()]:
            parent.mkdir(exist_ok=True)
            parent.chmod(parents)
        if not folder.is_dir():
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{folder} cannot be created ({error.strerror}); set TANDEM_DATA_DIR to another folder"
        ) from error
    return folder


def secret_key(debug: bool, own_machine: bool, folder: Path) -> str:
    """Return SECRET_KEY; on one's own machine, create and store one if it is not set.

    The key allows forging sessions. Raises ImproperlyConfigured if it is short, repetitive or well
    known.
    """
    if key := read("SECRET_KEY"):
        return key if debug else _check_strength(key)
    if not own_machine:
        raise ImproperlyConfigured(
            f"SECRET_KEY is not set; set it to {LEAST_KEY} random characters ({NEW_KEY}), or "
            "DEBUG=1 on your own machine"
        )
    return _stored_key(folder / "secret_key")


def _check_strength(key: str) -> str:
    weak = len(key) < LEAST_KEY or len(set(key)) < LEAST_DIFFERENT or _repeats(key)
    if weak or any(word in key.lower() for word in GUESSABLE_KEYS):
        raise ImproperlyConfigured(
            f"SECRET_KEY can be guessed; set it to {LEAST_KEY} random characters ({NEW_KEY})"
        )
    return key


def _repeats(key: str) -> bool:
    """Return whether the key is a repetition of a shorter text."""
    return any(key[period:] == key[:-period] for period in range(1, len(key) // 2 + 1))


def _stored_key(path: Path) -> str:
    _create(path, secrets.token_urlsafe(50))
    if not (key := path.read_text("utf-8")):
        raise ImproperlyConfigured(f"{path} is empty; delete it to create a new key")
    return key


def _create(path: Path, text: str) -> None:
    """Create a private file, whole from its first moment, unless there is one.

    Several processes may start at once.
    """
    if path.exists():
        return
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(text)
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    finally:
        new.unlink()


def database(folder: Path) -> dict[str, object]:
    """Return DATABASE_URL's database; by default SQLite with WAL and immediate transactions."""
    read("DATABASE_URL")
    # The error below is clearer than the warning of environ about an unknown engine.
    warnings.filterwarnings("ignore", message="Engine not recognized", module="environ")
    try:
        config = env.db("DATABASE_URL", default=f"sqlite:///{folder / 'tandem.sqlite3'}")
    except Exception as error:
        raise ImproperlyConfigured(UNREADABLE_DATABASE) from error
    if config.get("ENGINE") not in ENGINES:
        raise ImproperlyConfigured(UNREADABLE_DATABASE)
    options = config.setdefault("OPTIONS", {})
    if config["ENGINE"].endswith("sqlite3"):
        # This backend queues writers. Connections stay open, since opening one is slow.
        config |= {"ENGINE": "config.sqlite", "CONN_MAX_AGE": 60}
        options |= {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            # With NORMAL, a power cut could take back answers whose save was confirmed.
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
            ),
        }
    else:
        config["CONN_HEALTH_CHECKS"] = True
        size = max(whole_number("TANDEM_POOL_SIZE"), threads_of_web_process())
        pool = {"min_size": 0, "max_size": size, "timeout": 4, "reconnect_timeout": 2}
        options |= {"pool": pool, "connect_timeout": 3}
        # A pooler that shares connections may need it switched off: ?prepare_threshold=1000000000.
        options.setdefault("prepare_threshold", 5)
    return dict(config)


def broker(folder: Path) -> dict[str, object]:
    """Return CELERY_BROKER_URL and its options; by default the file system in the data folder.

    The broker only wakes workers; the work itself is listed in the database.
    """
    url = read("CELERY_BROKER_URL", "filesystem://")
    if url.startswith(("valkey:", "valkeys:")) or ":" not in url:
        raise ImproperlyConfigured(
            f"CELERY_BROKER_URL is {url!r}; set it to redis://host:port/0, for Valkey too"
        )
    if url.startswith(("redis:", "rediss:", "redis+socket:", "sentinel:")):
        return {"url": url, "options": REDIS_OPTIONS}
    if not url.startswith("filesystem:"):
        return {"url": url, "options": {}}
    queue, control = (
        create_folder(folder / "broker" / "queue"),
        create_folder(folder / "broker" / "control"),
    )
    # kombu locks these lists of queues only after creating them, so of two workers that start
    # together, one could read an empty list, and end.
    for exchange in ("celery", "celery.pidbox"):
        _create(control / f"{exchange}.exchange", "[]")
    options = {
        "data_folder_in": str(queue),
        "data_folder_out": str(queue),
        "control_folder": str(control),
        "polling_interval": 0.2,
    }
    return {"url": url, "options": options}


# A message of a killed worker returns after the timeout, which is five times an engine's time
# budget. Without the next two settings, kombu looks for such messages only every 100 seconds. The
# socket timeouts keep a broker that does not answer from blocking a sender.
REDIS_OPTIONS: dict[str, object] = {
    "visibility_timeout": 600,
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    "socket_timeout": 10,
    "socket_connect_timeout": 3,
    "socket_keepalive": True,
}
