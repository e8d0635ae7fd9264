"""The settings that tests run under: a development start, with a data folder that is thrown away.

It stands in the environment before Django is set up, so the commands that tests start inherit it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

os.environ.setdefault("DEBUG", "1")
if "TANDEM_DATA_DIR" not in os.environ:
    os.environ["TANDEM_DATA_DIR"] = tempfile.mkdtemp(prefix="tandem-tests-")
    atexit.register(shutil.rmtree, os.environ["TANDEM_DATA_DIR"], ignore_errors=True)

from config.settings import *  # noqa: F403

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]

# What tests start as processes of their own runs under the settings that people run.
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
