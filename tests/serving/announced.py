"""The site's application, which says in the log which process loads it."""

from __future__ import annotations

import os

from config.wsgi import application

__all__ = ["application"]

print(f"loaded by {os.getpid()}", flush=True)
