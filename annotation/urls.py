"""The addresses of accounts, of a person's work and of campaigns."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path

from annotation.views import accounts, campaigns, item, saving, work

urlpatterns = [
    path("", accounts.home, name="home"),
    path("login/", accounts.LogIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("work/", work.work, name="work"),
    path("work/next/<int:pk>/", work.take_next, name="take-next"),
    path("work/finished/<int:pk>/", work.finished, name="finished"),
    path("work/<uuid:uid>/", item.item, name="item"),
    path("work/<uuid:uid>/draft", saving.keep_draft, name="draft"),
    path("work/<uuid:uid>/submit", saving.take_answer, name="submit"),
    path("work/<uuid:uid>/guideline/", item.guideline, name="guideline"),
    path("work/<uuid:uid>/progress/", item.how_far, name="progress"),
    path("campaigns/", campaigns.campaigns, name="campaigns"),
]
