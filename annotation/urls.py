"""The addresses of accounts, of a person's work and of campaigns."""

from __future__ import annotations

from django.urls import path

from annotation.views import (
    accounts,
    campaigns,
    exports,
    feedback,
    item,
    jumping,
    nuggets,
    saving,
    tokens,
    trail,
    work,
)
from annotation.views.studies import looking, making

urlpatterns = [
    path("", accounts.home, name="home"),
    path("login/", accounts.LogIn.as_view(), name="login"),
    path("login/who", accounts.who, name="who"),
    path("logout/", accounts.LogOut.as_view(), name="logout"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/<int:pk>/take-back/", tokens.take_back_one, name="token-take-back"),
    path("tasks/", work.work, name="work"),
    path("tasks/next/<int:pk>/", work.take_next, name="take-next"),
    path("tasks/finished/<int:pk>/", work.finished, name="finished"),
    path("tasks/<uuid:uid>/", item.item, name="item"),
    path("tasks/<uuid:uid>/jump", jumping.jump, name="jump"),
    path("tasks/<uuid:uid>/draft", saving.keep_draft, name="draft"),
    path("tasks/<uuid:uid>/submit", saving.take_answer, name="submit"),
    path("tasks/<uuid:uid>/guideline/", item.guideline, name="guideline"),
    path("tasks/<uuid:uid>/feedback/", feedback.feedback, name="feedback"),
    path("tasks/<uuid:uid>/progress/", item.how_far, name="progress"),
    path("tasks/<uuid:uid>/nugget/<int:place>/", nuggets.nugget, name="nugget"),
    path("campaigns/", campaigns.campaigns, name="campaigns"),
    path("campaigns/new/", making.new_campaign, name="campaign-new"),
    path("campaigns/<int:pk>/", looking.campaign, name="campaign"),
    path("campaigns/<int:pk>/terms/", looking.change_terms, name="campaign-terms"),
    path("campaigns/<int:pk>/turn/", looking.turn, name="campaign-turn"),
    path("campaigns/<int:pk>/known/", looking.set_known, name="campaign-known"),
    path("campaigns/<int:pk>/admit/", looking.let_in, name="campaign-admit"),
    path("campaigns/<int:pk>/draws.csv", looking.draw, name="campaign-draws"),
    path("campaigns/<int:pk>/audit/", trail.campaign_trail, name="campaign-audit"),
    path("campaigns/<int:pk>/audit.jsonl", trail.campaign_trail_file, name="campaign-audit-file"),
    path("audit/", trail.trail, name="audit"),
    path("audit.jsonl", trail.trail_file, name="audit-file"),
    path("campaigns/<int:pk>/exports/", exports.exports, name="exports"),
    path(
        "campaigns/<int:pk>/exports/<slug:what>/<slug:form>/",
        exports.export_file,
        name="export-file",
    ),
]
