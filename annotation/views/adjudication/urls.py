"""The addresses of adjudication."""

from __future__ import annotations

from django.urls import path

from annotation.views.adjudication import deciding, queue, unit

urlpatterns = [
    path("adjudication/<int:pk>/", queue.disputes, name="adjudication"),
    path("adjudication/<int:pk>/next/", queue.go_on, name="adjudication-next"),
    path("adjudication/<int:pk>/guideline/", queue.guideline, name="adjudication-guideline"),
    path("adjudication/<int:pk>/<int:unit>/", unit.dispute, name="adjudication-unit"),
    path("adjudication/<int:pk>/<int:unit>/decide/", deciding.take_decision, name="decide"),
]
