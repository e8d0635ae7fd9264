"""Serializers of judges, runs and calls, with examples."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any

from rest_framework import serializers

from datasets.api.base import Computed, Exact, PageParameters, Positive, Strict
from datasets.api.batches import OwnedSerializer
from judging.answer_files import SCRIPTED
from judging.costs import cost_of_run
from judging.forms import BACKENDS, MOST_TRIED, ON_PAGES
from judging.judge_file.document import MAX_LENGTH
from judging.judges import MAX_LENGTHS, MAX_PROMPT_LENGTH, shown_params
from judging.models import Judge, JudgeCall, JudgeRun
from judging.params import MOST_WORKERS
from judging.prompts.isolation import own_isolation
from judging.servers import address_of

LARGEST = 2**31 - 1
MOST_TOKENS = 2**53
PARAMS = ", ".join(f"`{name}`" for name in ON_PAGES)


class Dollars(Computed):
    """The `cost` of an object, or what a function computes, as text: a number would round it."""

    def __init__(self, function: Callable[[Any], Decimal | None] = attrgetter("cost")) -> None:
        super().__init__(
            lambda row: None if (cost := function(row)) is None else str(cost),
            str | None,
            help_text="in US dollars; null where unknown",
        )


class JudgeParameters(PageParameters):
    name = Exact("only the judge with exactly this name")
    backend = serializers.CharField(required=False, help_text="only judges of this backend")


class JudgeSerializer(OwnedSerializer):
    id = serializers.IntegerField()
    name = serializers.CharField(
        source="rater.name", help_text="the name of the rater of its labels"
    )
    backend = serializers.CharField()
    model = serializers.CharField()
    base_url = serializers.CharField()
    api_key_env = serializers.CharField(
        help_text="the variable with the server's key, which is never shown"
    )
    granularity = serializers.ChoiceField(Judge.Granularity.values)
    prompt_sha256 = serializers.CharField(help_text="empty if the judge uses the protocol's prompt")
    file_sha256 = serializers.CharField(help_text="the digest of its judge file; empty without one")
    isolate = Computed(
        own_isolation,
        str,
        help_text="what one request shows, by its judge file or its parameters: unit, response, "
        "item or query; empty if the protocol decides",
    )
    params = Computed(shown_params, dict[str, Any])
    base = serializers.IntegerField(
        source="base_id", allow_null=True, help_text="the judge of which this is a trial"
    )
    created_at = serializers.DateTimeField()
    family = serializers.CharField(help_text="whose model it is; empty if nobody said")
    scripted = Computed(
        lambda judge: judge.backend == SCRIPTED,
        bool,
        help_text="whether it is a fake, which replays a file's answers",
    )


class WholeJudgeSerializer(JudgeSerializer):
    prompt = serializers.CharField(help_text="its own prompt; empty for the protocol's")
    file = serializers.CharField(help_text="the text of its judge file; empty if it has none")
    variation = serializers.DictField(help_text="the perturbation, if this is a trial")


class DefinitionSerializer(Strict):
    """A judge without its name."""

    backend = serializers.ChoiceField([name for name, _ in BACKENDS])
    model = serializers.CharField(max_length=200, required=False)
    base_url = serializers.CharField(
        max_length=500, required=False, help_text="the provider's public server if left out"
    )
    api_key_env = serializers.CharField(
        max_length=100,
        required=False,
        help_text="the name of a variable TANDEM_KEY_…; with a new address for admins only",
    )
    prompt = serializers.CharField(
        max_length=MAX_PROMPT_LENGTH, required=False, allow_blank=True, trim_whitespace=False
    )
    file = serializers.CharField(
        max_length=MAX_LENGTH,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="the text of a judge file (TOML), instead of a prompt; `params` win over its own",
    )
    granularity = serializers.ChoiceField(Judge.Granularity.values, default="item")
    family = serializers.CharField(
        max_length=MAX_LENGTHS["family"],
        required=False,
        allow_blank=True,
        help_text="whose model it is, as `family` of a batch's reports",
    )
    params = serializers.DictField(
        child=serializers.JSONField(), required=False, help_text=f"of {PARAMS}"
    )


class NewJudgeSerializer(DefinitionSerializer):
    name = serializers.CharField(max_length=150)
    team = serializers.CharField(
        required=False,
        help_text="the team that it is for; needed only if you manage several",
    )


class RunParameters(PageParameters):
    campaign = Positive(required=False, help_text="only runs over this campaign")
    judge = Positive(required=False, help_text="only runs of this judge")
    state = serializers.ChoiceField(
        JudgeRun.State.values, required=False, help_text="only runs in this state"
    )


class RunSerializer(serializers.Serializer[JudgeRun]):
    id = serializers.IntegerField()
    campaign = serializers.IntegerField(source="campaign_id")
    judge = serializers.IntegerField(source="judge_id")
    judge_name = serializers.CharField(source="judge.rater.name")
    state = serializers.ChoiceField(JudgeRun.State.values)
    wish = serializers.ChoiceField(
        JudgeRun.Wish.values,
        allow_blank=True,
        help_text="an order that the run has not followed yet",
    )
    limit = serializers.IntegerField(
        allow_null=True, help_text="maximum number of requests; null for no limit"
    )
    most_tokens = serializers.IntegerField(allow_null=True)
    most_cost = serializers.DecimalField(12, 6, allow_null=True, help_text="in US dollars")
    concurrency = serializers.IntegerField(
        allow_null=True, help_text="maximum number of requests at once"
    )
    workers = serializers.IntegerField(help_text="maximum number of worker processes at once")
    reuse = serializers.ChoiceField(JudgeRun.Reuse.values)
    go_on = serializers.BooleanField(
        help_text="whether it goes on even if its first results are missing for the same reason"
    )
    ended_early = serializers.CharField(
        help_text="the missing reason that nearly all first results shared, and that ended the run"
    )
    rests_until = serializers.DateTimeField(
        allow_null=True, help_text="the time before which the server wants to be asked nothing"
    )
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    failures = serializers.DictField(child=serializers.IntegerField(), help_text="by reason")
    calls = serializers.IntegerField()
    reused = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    thinking_tokens = serializers.IntegerField(
        help_text="the part of the completions that is reasoning"
    )
    cost = Dollars(cost_of_run)
    error = serializers.CharField(help_text="the current error, or the one that ended the run")
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class PlanningSerializer(serializers.Serializer[Any]):
    """The progress of planning a queued run's requests."""

    done = serializers.IntegerField(help_text="items that have their requests")
    items = serializers.IntegerField(help_text="all items that the run is for")


class RunProgressSerializer(serializers.Serializer[Any]):
    """The current status of a run. `open` counts requests of the campaign without a result."""

    word = serializers.CharField(source="status.word", help_text="the status in a word")
    note = serializers.CharField(source="status.note", help_text="an explanation, or what to do")
    open = serializers.IntegerField()
    closed = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    rate = serializers.FloatField(allow_null=True, help_text="requests per second; null if unknown")
    seconds_left = serializers.FloatField(source="left", allow_null=True)
    planning = PlanningSerializer(
        allow_null=True,
        help_text="while a worker has not planned all requests, so that there will be more than "
        "are counted; else null",
    )


class WholeRunSerializer(RunSerializer):
    progress = RunProgressSerializer()
    warnings = serializers.ListField(child=serializers.CharField())


class NewRunSerializer(Strict):
    judge = Positive()
    campaign = Positive()
    limit = Positive(required=False, allow_null=True, help_text="most requests")
    most_tokens = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MOST_TOKENS
    )
    most_cost = serializers.DecimalField(
        12,
        6,
        required=False,
        allow_null=True,
        min_value=Decimal("0.000001"),
        help_text="US dollars; applies only if the model's price is known",
    )
    concurrency = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MOST_TRIED
    )
    workers = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MOST_WORKERS,
        help_text="maximum number of worker processes at once; null for the judge's own, or 1",
    )
    reuse = serializers.ChoiceField(
        JudgeRun.Reuse.values,
        default=JudgeRun.Reuse.NEVER,
        help_text="which earlier answers to the same request are used again",
    )
    go_on = serializers.BooleanField(
        default=False,
        help_text="go on even if nearly all of the first 30 results are missing for the same "
        "reason, which otherwise ends the run",
    )


class OrderSerializer(Strict):
    order = serializers.ChoiceField(
        ("stop", "cancel", "resume", "concurrency", "workers"),
        help_text=(
            "stop: end the run, which may be resumed; cancel: end the run and close what is "
            "open; resume: use a paused or resting server again; concurrency: change the number "
            "of requests at once; workers: change the number of worker processes at once"
        ),
    )
    concurrency = serializers.IntegerField(required=False, min_value=1, max_value=MOST_TRIED)
    workers = serializers.IntegerField(required=False, min_value=1, max_value=MOST_WORKERS)


class CallParameters(PageParameters):
    state = serializers.CharField(
        required=False, max_length=40, help_text="only calls in this state, such as answered"
    )


class CallSerializer(serializers.Serializer[JudgeCall]):
    id = serializers.IntegerField()
    run = serializers.IntegerField(source="run_id")
    item = serializers.CharField(source="assignment.item.key")
    unit = serializers.CharField(
        source="assignment.scope",
        help_text="the unit, if units are asked one by one; otherwise empty",
    )
    replicate = serializers.IntegerField(source="assignment.replicate")
    attempt = serializers.IntegerField()
    state = serializers.CharField(help_text="answered, or what failed")
    missing = Computed(
        lambda call: call.assignment.reason or None,
        str | None,
        help_text=(
            "why there is no label, such as unreadable; null if there is one, or may still be one"
        ),
    )
    detail = serializers.CharField()
    http_status = serializers.IntegerField(allow_null=True)
    usage = serializers.DictField(help_text="tokens as counted by the server")
    cost = serializers.DecimalField(12, 6, allow_null=True, help_text="in US dollars")
    repair = serializers.BooleanField(
        help_text="whether the call asked to repair an unreadable answer"
    )
    reused_from = serializers.IntegerField(source="reused_from_id", allow_null=True)
    reading = serializers.CharField(
        help_text="the steps by which the answer was read, joined by +: as-is, fence, prose, …"
    )
    sent_at = serializers.DateTimeField()
    seconds = serializers.FloatField()


class WholeCallSerializer(CallSerializer):
    request_hash = serializers.CharField()
    address = Computed(
        address_of, str, help_text="the address that was asked; empty if the judge has only one"
    )
    completion = serializers.CharField(allow_null=True, help_text="the model's complete answer")
    reasoning = serializers.CharField(
        help_text="the model's reasoning before its answer, if the server returns it separately"
    )
    body = serializers.CharField(help_text="what the server sent instead of an answer")
    finish_reason = serializers.CharField()
    model_returned = serializers.CharField()
