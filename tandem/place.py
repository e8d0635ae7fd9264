"""Where the site's code lies, beside this package in a checkout and within it when installed.

The library imports nothing of the site. Only processes that serve, work or ask the database call
`enter`, so that in every other process `datasets`, `analysis` and `config` are the user's own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

UMASK = 0o077
_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_site"
IS_INSTALLED = _INSTALLED.is_dir()
SITE = _INSTALLED if IS_INSTALLED else _PACKAGE.parent
"""The folder of manage.py, `config`, the apps, `templates`, `static` and `locale`."""


def enter() -> None:
    """Let this process import the site's code, before anything of that name in its folder."""
    site = str(SITE)
    if sys.path[:1] != [site]:
        sys.path[:] = [site, *(each for each in sys.path if each != site)]


def set_umask() -> None:
    """Have this process and its children create files that only their owner may read."""
    os.umask(UMASK)


def data_folder() -> Path:
    """Return the folder for data where none is named: `var` in a checkout, else the user's."""
    if not IS_INSTALLED:
        return SITE / "var"
    from platformdirs import user_data_path

    return user_data_path("tandem", appauthor=False)
