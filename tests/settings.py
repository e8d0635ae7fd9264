"""The settings of tests: those of development, with a temporary data folder.

The environment names the folder before Django is set up, so commands started by tests inherit it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from typing import Any

os.environ.setdefault("DEBUG", "1")
if "TANDEM_DATA_DIR" not in os.environ:
    os.environ["TANDEM_DATA_DIR"] = tempfile.mkdtemp(prefix="tandem-tests-")
    atexit.register(shutil.rmtree, os.environ["TANDEM_DATA_DIR"], ignore_errors=True)

from config.settings import *  # noqa: F403
from tests.patience import wait_long

# Only tests of the queue have workers, and switch this off.
JOBS_EAGER = True
JOBS_STRICT = True

# Pages do not start a process for a judge's run, except in tests of this feature.
TANDEM_WITH_WORKERS = True

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]

# A file, as in use: with a database in memory, all threads of the live server would share one
# connection, and simultaneous requests one transaction.
database: Any = DATABASES["default"]  # noqa: F405
if database["ENGINE"] == "config.sqlite":
    database["TEST"] = {"NAME": DATA_DIR / "tests.sqlite3"}  # noqa: F405
    # Tests have no power cuts, so writes need not reach the disk.
    database["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"

# On a busy machine, a writer may wait long for its turn.
wait_long(database)

# pytest formats each line four times, a fifth of a small request. Tests of these lines enable them.
LOGGING["loggers"]["tandem.requests"] = {"level": "WARNING"}  # noqa: F405

# The live server serves static files only if the app is installed under this name.
INSTALLED_APPS = [
    "django.contrib.staticfiles" if app == "config.apps.StaticFiles" else app
    for app in INSTALLED_APPS  # noqa: F405
]

# Processes that tests start have the settings that people use.
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
