"""URLs of the API of campaigns and of a person's work."""

from __future__ import annotations

from django.urls import path

from annotation.api import (
    adjudication,
    answers,
    assignments,
    audit,
    campaigns,
    derivation,
    dry_run,
    exports,
    gold,
    imports,
    intake,
    items,
    people,
    progress,
    sample,
    teams,
)

urlpatterns = [
    path("teams/", teams.Teams.as_view(), name="api-teams"),
    path("teams/<int:pk>/", teams.OneTeam.as_view(), name="api-team"),
    path("teams/<int:pk>/members/", teams.TeamMembers.as_view(), name="api-team-members"),
    path("teams/<int:pk>/shares/", teams.TeamShares.as_view(), name="api-team-shares"),
    path("teams/<int:pk>/moves/", teams.TeamMoves.as_view(), name="api-team-moves"),
    path("campaigns/", campaigns.Campaigns.as_view(), name="api-campaigns"),
    path("campaigns/rehearsal/", dry_run.DryRuns.as_view(), name="api-rehearsal"),
    path("campaigns/<int:pk>/", campaigns.OneCampaign.as_view(), name="api-campaign"),
    path("campaigns/<int:pk>/next/", assignments.NextAssignment.as_view(), name="api-next"),
    path("campaigns/<int:pk>/intake/", intake.Intake.as_view(), name="api-intake"),
    path("campaigns/<int:pk>/consent/", intake.OwnConsent.as_view(), name="api-own-consent"),
    path(
        "campaigns/<int:pk>/background/",
        intake.OwnBackground.as_view(),
        name="api-own-background",
    ),
    path("campaigns/<int:pk>/units/", exports.Units.as_view(), name="api-units"),
    path("campaigns/<int:pk>/labels/", exports.Labels.as_view(), name="api-labels"),
    path("campaigns/<int:pk>/responses/", exports.Responses.as_view(), name="api-responses"),
    path("campaigns/<int:pk>/items/", items.Items.as_view(), name="api-items"),
    path("campaigns/<int:pk>/items/<int:position>/", items.OneItem.as_view(), name="api-item"),
    path(
        "campaigns/<int:pk>/assignments/",
        items.AskedInCampaign.as_view(),
        name="api-campaign-assignments",
    ),
    path("campaigns/<int:pk>/exports/", exports.Exports.as_view(), name="api-exports"),
    path(
        "campaigns/<int:pk>/exports/<slug:what>/<slug:form>/",
        exports.OneExport.as_view(),
        name="api-export",
    ),
    path("campaigns/<int:pk>/imports/", imports.Imports.as_view(), name="api-imports"),
    path("campaigns/<int:pk>/terms/", campaigns.ChangedSettings.as_view(), name="api-terms"),
    path("campaigns/<int:pk>/draws/", sample.Sample.as_view(), name="api-draws"),
    path("campaigns/<int:pk>/known/", gold.GoldAnswers.as_view(), name="api-known"),
    path("campaigns/<int:pk>/people/", people.CampaignPeople.as_view(), name="api-campaign-people"),
    path("campaigns/<int:pk>/pay/", people.CampaignPay.as_view(), name="api-pay"),
    path("campaigns/<int:pk>/members/", people.MemberRole.as_view(), name="api-members"),
    path(
        "campaigns/<int:pk>/raters/<int:rater>/exclusion/",
        people.RaterExclusion.as_view(),
        name="api-exclusion",
    ),
    path(
        "campaigns/<int:pk>/raters/<int:rater>/admission/",
        people.RaterAdmission.as_view(),
        name="api-admission",
    ),
    path(
        "campaigns/<int:pk>/raters/<int:rater>/free/",
        people.SlotRelease.as_view(),
        name="api-free",
    ),
    path("campaigns/<int:pk>/progress/", progress.CampaignProgress.as_view(), name="api-progress"),
    path(
        "campaigns/<int:pk>/raters/<int:rater>/progress/",
        progress.PersonProgress.as_view(),
        name="api-rater-progress",
    ),
    path("campaigns/<int:pk>/adjudication/", adjudication.Disputes.as_view(), name="api-disputes"),
    path(
        "campaigns/<int:pk>/adjudication/<int:unit>/",
        adjudication.OneDispute.as_view(),
        name="api-dispute",
    ),
    path(
        "campaigns/<int:pk>/audit/", audit.CampaignAuditTrail.as_view(), name="api-campaign-audit"
    ),
    path("audit/", audit.AuditTrail.as_view(), name="api-audit"),
    path("people/", people.People.as_view(), name="api-people"),
    path("people/<int:pk>/", people.OnePerson.as_view(), name="api-person"),
    path("people/<int:pk>/forget/", people.AccountDeletion.as_view(), name="api-forget"),
    path("invitations/", people.Invitations.as_view(), name="api-invitations"),
    path("invitations/<int:pk>/revoke/", people.InvitationRevocation.as_view(), name="api-revoke"),
    path("assignments/", assignments.Assignments.as_view(), name="api-assignments"),
    path("assignments/<uuid:uid>/", assignments.OneAssignment.as_view(), name="api-assignment"),
    path(
        "assignments/<uuid:uid>/guideline/",
        assignments.Guideline.as_view(),
        name="api-guideline",
    ),
    path("assignments/<uuid:uid>/feedback/", assignments.Feedback.as_view(), name="api-feedback"),
    path("assignments/<uuid:uid>/response/", answers.OneAnswer.as_view(), name="api-response"),
]

urlpatterns += [
    path("batches/<int:pk>/derive/", derivation.DerivedBatches.as_view(), name="api-derive"),
    path("batches/<int:pk>/lineage/", derivation.BatchLineage.as_view(), name="api-lineage"),
    path("batches/<int:pk>/left-out/", derivation.LeftOutParts.as_view(), name="api-left-out"),
]
