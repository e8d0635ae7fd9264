"""URLs of the API of judges and of preparation."""

from __future__ import annotations

from judging.api import judges, preparation, runs, trials

MODULES = (judges, preparation, runs, trials)
urlpatterns = [url for module in MODULES for url in module.api.urls]
