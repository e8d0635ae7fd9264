"""The native format's schema and example, to be kept as files."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from datasets.access import role_required
from datasets.format_files import FORMAT_FILES


@require_safe
@role_required("researcher", "admin")
def format_file(request: HttpRequest, name: str) -> HttpResponse:
    chosen = FORMAT_FILES[name]
    response = HttpResponse(chosen.read(), content_type=f"{chosen.media_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{chosen.name}"'
    return response
