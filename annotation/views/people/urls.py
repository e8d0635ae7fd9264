"""The addresses of people."""

from __future__ import annotations

from django.urls import path

from annotation.views.people import accounts, campaign, inviting, prolific

urlpatterns = [
    path("people/", accounts.people, name="people"),
    path("people/invite/", inviting.new_invitation, name="invite"),
    path("people/<int:pk>/", accounts.person, name="person"),
    path("people/<int:pk>/change/", accounts.change, name="person-change"),
    path("people/invitations/<int:pk>/revoke/", inviting.take_back, name="invitation-revoke"),
    path("campaigns/<int:pk>/people/", campaign.people, name="campaign-people"),
    path("campaigns/<int:pk>/people/change/", campaign.order, name="campaign-people-change"),
    path("campaigns/<int:pk>/people/invite/", campaign.invite_here, name="campaign-invite"),
    path("join/", inviting.accept_invitation, name="join"),
    path("prolific/<int:pk>/", prolific.arrive, name="prolific"),
]
