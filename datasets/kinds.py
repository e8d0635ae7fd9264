"""The registry of sources of work. Light jobs come after heavy ones, as they take free places."""

from __future__ import annotations

from datasets.uploads.worker import uploads
from datasets.work.execution import heavy_jobs, light_jobs
from datasets.work.periodic import periodic_work
from datasets.work.sources import register_source

for make in (heavy_jobs, light_jobs, uploads, periodic_work):
    register_source(make)
