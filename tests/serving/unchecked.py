"""gunicorn's configuration of the site, without the checks before its start.

They take a process of their own and a second and a half; the server that most tests look at has
them.
"""

from __future__ import annotations

from config import gunicorn

globals().update(
    {k: v for k, v in vars(gunicorn).items() if not k.startswith("__") and k != "on_starting"}
)
