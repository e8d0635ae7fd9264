"""The settings of tests: those of development, with a temporary data folder.

It stands in the environment before Django is set up, so the commands that tests start inherit it.
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

# Only tests of the queue have workers; they switch this off.
JOBS_EAGER = True
JOBS_STRICT = True

# Pages start no process for a judge's run, except in tests of that.
TANDEM_WITH_WORKERS = True

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]

# A file, as people have it: of a database in memory all threads of the live server would share one
# connection, and two requests at once one transaction.
database: Any = DATABASES["default"]  # noqa: F405
if database["ENGINE"] == "config.sqlite":
    database["TEST"] = {"NAME": DATA_DIR / "tests.sqlite3"}  # noqa: F405
    # No test has a power cut, so that writes need not have reached the disk.
    database["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"

# On a busy machine, a turn comes late.
wait_long(database)

# pytest formats each line four times, a fifth of a small request. Tests that read these lines ask
# for them.
LOGGING["loggers"]["tandem.requests"] = {"level": "WARNING"}  # noqa: F405

# The live server serves static files only where it finds the app under its own name.
INSTALLED_APPS = [
    "django.contrib.staticfiles" if app == "config.apps.StaticFiles" else app
    for app in INSTALLED_APPS  # noqa: F405
]

# Processes that tests start have the settings that people use.
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
