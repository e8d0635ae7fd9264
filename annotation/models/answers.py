"""Answers: drafts, responses, labels, spans, adjudicators' decisions, looks at others' answers."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.campaigns import Assignment, Campaign, Unit
from annotation.models.people import Rater, User


class Draft(models.Model):
    """A person's unfinished answer. Each save increases `version`, so that stale saves conflict."""

    assignment = models.OneToOneField(Assignment, models.CASCADE, related_name="draft")
    payload = models.JSONField()
    version = models.PositiveIntegerField(default=1)
    saved_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.assignment_id} v{self.version}"


class Response(models.Model):
    """A validated answer. It never changes: a newer revision replaces it as the current one.

    `key` is the client's own key for the save, so that an answer sent twice is stored once. `basis`
    has the digests of what the rater was shown (`annotation.provenance`). It is None for imports.
    `exposed` says whether the person could see others' answers to any of the units beforehand, with
    an `Exposure` for each look at them. It is None if that is unknown, which is the case for
    answers from files and judges, and for answers that people gave before the ledger existed.
    """

    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="responses")
    revision = models.PositiveIntegerField(default=1)
    current = models.BooleanField(default=True)
    payload = models.JSONField()
    comment = models.TextField(default="", blank=True)
    door = models.CharField(max_length=6)
    key = models.CharField(max_length=64, null=True)  # noqa: DJ001 - null is unique many times
    created_at = models.DateTimeField(default=timezone.now)
    basis = models.CharField(max_length=38, null=True)  # noqa: DJ001 - unknown is not empty
    exposed = models.BooleanField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "assignment", condition=Q(current=True), name="one_current_response"
            ),
            models.UniqueConstraint("assignment", "revision", name="revisions_are_numbered_once"),
            models.UniqueConstraint("assignment", "key", name="a_save_is_stored_once"),
            models.CheckConstraint(
                condition=Q(door__in=("page", "api", "judge", "parser", "import")),
                name="door_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.assignment_id} r{self.revision}"


class CarriedAnswer(models.Model):
    """A response that was carried over from another campaign, in which it was given.

    `origin` is the response there, and `campaign` the name of that campaign. These facts have their
    own table, since most responses have no origin.
    """

    response = models.OneToOneField(Response, models.CASCADE, related_name="carried")
    origin = models.ForeignKey(Response, models.SET_NULL, null=True, related_name="+")
    campaign = models.CharField(max_length=200)

    def __str__(self) -> str:
        return f"{self.response_id} from {self.campaign}"


class Label(models.Model):
    """One value of one unit. `score` is a judge's probability or expected rating."""

    response = models.ForeignKey(Response, models.CASCADE, related_name="labels")
    unit = models.ForeignKey(Unit, models.PROTECT, related_name="labels")
    variable = models.CharField(max_length=40)
    value = models.CharField(max_length=255)
    score = models.FloatField(null=True)
    meta = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("response", "unit", "variable", name="one_label_a_variable"),
        ]

    def __str__(self) -> str:
        return f"{self.variable}={self.value}"


class Span(models.Model):
    """One range of evidence, in code points, with `end` exclusive.

    `quote` has the text's own words. If the quote was not found, both ends are None and `quote` has
    the words as they were sent.
    """

    label = models.ForeignKey(Label, models.CASCADE, related_name="spans")
    field = models.CharField(max_length=300)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    quote = models.TextField()
    method = models.CharField(max_length=10, default="exact")

    class Meta:
        ordering = ("label", "id")
        constraints = [
            models.CheckConstraint(
                # A comparison with NULL would pass, so both ends are checked for NULL by name.
                condition=Q(start__isnull=True, end__isnull=True)
                | Q(start__isnull=False, end__isnull=False, start__lt=models.F("end")),
                name="a_span_has_both_ends_or_none",
            )
        ]

    def __str__(self) -> str:
        return self.quote


class Decision(models.Model):
    """A decision on one unit. Its label, evidence, reason and time are those of its response.

    `by` is the adjudicator's rater, which keeps its pseudonym if the account is deleted. A decision
    that was changed is kept with its superseded response.
    """

    response = models.OneToOneField(Response, models.CASCADE, related_name="decision")
    unit = models.ForeignKey(Unit, models.CASCADE, related_name="decisions")
    by = models.ForeignKey(Rater, models.PROTECT, related_name="decisions")

    class Meta:
        ordering = ("unit", "response")

    def __str__(self) -> str:
        return f"{self.unit_id} by {self.by_id}"


class AdjudicationRequest(models.Model):
    """A unit that a researcher sent to adjudication: adjudicators decide it before the others."""

    unit = models.OneToOneField(Unit, models.CASCADE, related_name="adjudication_request")
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("unit",)

    def __str__(self) -> str:
        return str(self.unit_id)


class Look(models.Model):
    """A row of the ledger: the answers of others that an account could see at one moment.

    `scope` names the items or units by primary keys (`{"items": [...]}`, `{"units": [...]}`), or is
    None for the whole campaign. With a `rater`, only answers of that rater were shown. `number` is
    how many units the answers or figures were about, and `upto` the newest response at the time: no
    later one was shown. Only `exposing` looks mark later answers; the others showed figures over so
    many units that they reveal nothing about one. `digest` covers the scope, so that the same look
    without newer answers is one row.
    """

    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="looks")
    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="looks")
    kind = models.CharField(max_length=20)
    scope = models.JSONField(null=True)
    rater = models.ForeignKey(Rater, models.CASCADE, null=True, related_name="+")
    number = models.PositiveIntegerField(null=True)
    exposing = models.BooleanField()
    upto = models.BigIntegerField()
    digest = models.CharField(max_length=16)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                "user", "campaign", "kind", "digest", "upto", name="a_look_is_recorded_once"
            )
        ]
        indexes = [
            models.Index("user", "campaign", condition=Q(exposing=True), name="looks_that_expose")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.kind} {self.campaign_id}"


class Exposure(models.Model):
    """A look that an answer came after: the evidence for `Response.exposed`.

    `units` are the names of the answered units to which the look showed others' answers. `kind` and
    `at` are those of the look, in case its campaign is deleted.
    """

    response = models.ForeignKey(Response, models.CASCADE, related_name="exposures")
    look = models.ForeignKey(Look, models.SET_NULL, null=True, related_name="exposures")
    kind = models.CharField(max_length=20)
    at = models.DateTimeField()
    units = models.JSONField()

    class Meta:
        ordering = ("response", "id")
        constraints = [
            models.UniqueConstraint("response", "look", name="a_look_exposes_an_answer_once")
        ]

    def __str__(self) -> str:
        return f"{self.response_id} after {self.kind}"
