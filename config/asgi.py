"""The ASGI application, for servers that use it."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

from config.startup import end_on_newer_database

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_asgi_application()
end_on_newer_database()
