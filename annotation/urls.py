"""URLs of accounts, a person's work, campaigns, people, progress and adjudication."""

from __future__ import annotations

from django.urls import path

from annotation.views import (
    accounts,
    adjudication,
    answers,
    audit,
    campaign_people,
    campaign_settings,
    derivation,
    exports,
    imports,
    intake,
    items,
    new_campaign,
    people,
    progress,
    second_factor,
    teams,
    work,
)

urlpatterns = [
    path("", accounts.home, name="home"),
    path("login/", accounts.LogIn.as_view(), name="login"),
    path("login/who", accounts.who, name="who"),
    # Names that django-allauth looks for.
    path("login/", accounts.LogIn.as_view(), name="account_login"),
    path("login/code/", second_factor.second_step, name="mfa_authenticate"),
    path("login/link/", accounts.log_in_by_link, name="log-in-link"),
    path("login/with/<slug:provider_id>/", accounts.start, name="openid_connect_login"),
    path(
        "login/with/<slug:provider_id>/back/",
        accounts.back,
        name="openid_connect_callback",
    ),
    path("account/", second_factor.overview, name="mfa_index"),
    path("account/app/", second_factor.add_app, name="mfa_activate_totp"),
    path("account/app/remove/", second_factor.remove_app, name="mfa_deactivate_totp"),
    path("account/codes/", second_factor.recovery_codes, name="mfa_view_recovery_codes"),
    path(
        "account/codes/new/", second_factor.new_recovery_codes, name="mfa_generate_recovery_codes"
    ),
    path(
        "account/codes/file/",
        second_factor.recovery_codes_file,
        name="mfa_download_recovery_codes",
    ),
    path("account/confirm/", second_factor.confirm_by_password, name="account_reauthenticate"),
    path("account/confirm/code/", second_factor.confirm_by_code, name="mfa_reauthenticate"),
    path("account/password/", accounts.new_password, name="password"),
    path("account/link/remove/", accounts.remove_link, name="identity-remove"),
    path("account/language/", accounts.choose_language, name="language"),
    path("logout/", accounts.LogOut.as_view(), name="logout"),
    path("tokens/", accounts.tokens, name="tokens"),
    path("tokens/<int:pk>/take-back/", accounts.revoke_token, name="token-take-back"),
    path("tasks/", work.work, name="work"),
    path("tasks/next/<int:pk>/", work.take_next, name="take-next"),
    path("tasks/before/<int:pk>/", intake.before, name="before"),
    path("tasks/consent/<int:pk>/", intake.own_consent, name="own-consent"),
    path("tasks/finished/<int:pk>/", work.finished, name="finished"),
    path("tasks/<uuid:uid>/", items.item, name="item"),
    path("tasks/<uuid:uid>/jump", work.jump, name="jump"),
    path("tasks/<uuid:uid>/draft", answers.keep_draft, name="draft"),
    path("tasks/<uuid:uid>/submit", answers.take_answer, name="submit"),
    path("tasks/<uuid:uid>/cannot-judge/", work.cannot_judge, name="cannot-judge"),
    path("tasks/<uuid:uid>/take-up/", work.take_up, name="take-up"),
    path("tasks/<uuid:uid>/guideline/", items.guideline, name="guideline"),
    path("tasks/<uuid:uid>/feedback/", work.feedback, name="feedback"),
    path("tasks/<uuid:uid>/progress/", items.work_progress, name="progress"),
    path("tasks/<uuid:uid>/nugget/<int:place>/", items.nugget, name="nugget"),
    path("teams/", teams.teams, name="teams"),
    path("teams/<int:pk>/", teams.team, name="team"),
    path("teams/<int:pk>/change/", teams.change_team, name="team-change"),
    path("campaigns/new/", new_campaign.new_campaign, name="campaign-new"),
    path("campaigns/new/guideline/", new_campaign.look_at_guideline, name="guideline-look"),
    path(
        "campaigns/<int:pk>/settings/",
        campaign_settings.campaign_settings,
        name="campaign-settings",
    ),
    path("campaigns/<int:pk>/terms/", campaign_settings.change_settings, name="campaign-terms"),
    path("campaigns/<int:pk>/turn/", campaign_settings.open_or_close, name="campaign-turn"),
    path("campaigns/<int:pk>/known/", campaign_settings.set_gold, name="campaign-known"),
    path("campaigns/<int:pk>/admit/", campaign_settings.admit_person, name="campaign-admit"),
    path("campaigns/<int:pk>/draws.csv", campaign_settings.download_sample, name="campaign-draws"),
    path("campaigns/<int:pk>/audit/", audit.campaign_trail, name="campaign-audit"),
    path("campaigns/<int:pk>/audit.jsonl", audit.campaign_trail_file, name="campaign-audit-file"),
    path("audit/", audit.trail, name="audit"),
    path("audit.jsonl", audit.trail_file, name="audit-file"),
    path("campaigns/<int:pk>/import/", imports.import_file, name="campaign-import"),
    *(
        path(
            f"campaigns/<int:pk>/import/template.{form}",
            imports.template,
            {"form": form},
            name=f"import-template-{form}",
        )
        for form in imports.TEMPLATES
    ),
    path("campaigns/<int:pk>/exports/", exports.exports, name="exports"),
    path(
        "campaigns/<int:pk>/exports/<slug:what>/<slug:form>/",
        exports.export_file,
        name="export-file",
    ),
]


urlpatterns += [
    path("adjudication/<int:pk>/", adjudication.disputes, name="adjudication"),
    path("adjudication/<int:pk>/next/", adjudication.open_first, name="adjudication-next"),
    path("adjudication/<int:pk>/guideline/", adjudication.guideline, name="adjudication-guideline"),
    path("adjudication/<int:pk>/<int:unit>/", adjudication.dispute, name="adjudication-unit"),
    path("adjudication/<int:pk>/<int:unit>/decide/", adjudication.take_decision, name="decide"),
]


urlpatterns += [
    path("people/", people.people, name="people"),
    path("people/invite/", people.new_invitation, name="invite"),
    path("people/<int:pk>/", people.person, name="person"),
    path("people/<int:pk>/change/", people.change_account, name="person-change"),
    path("people/invitations/<int:pk>/revoke/", people.revoke_invitation, name="invitation-revoke"),
    path("campaigns/<int:pk>/people/", campaign_people.campaign_people, name="campaign-people"),
    path(
        "campaigns/<int:pk>/people/change/",
        campaign_people.change_people,
        name="campaign-people-change",
    ),
    path(
        "campaigns/<int:pk>/people/invite/",
        campaign_people.invite_to_campaign,
        name="campaign-invite",
    ),
    path("join/", people.accept_invitation, name="join"),
    path("prolific/<int:pk>/", intake.enter_from_prolific, name="prolific"),
]


urlpatterns += [
    path("campaigns/<int:pk>/progress/", progress.campaign, name="campaign-progress"),
    path("campaigns/<int:pk>/raters/<int:rater>/", progress.person, name="campaign-rater"),
    path("campaigns/<int:pk>/raters/<int:rater>/labels/", progress.labels, name="rater-labels"),
]


urlpatterns += [
    path("batches/<int:pk>/derive/", derivation.derive_batch, name="batch-derive"),
    path("batches/<int:pk>/left-out/", derivation.left_out, name="batch-left-out"),
]
