"""A campaign's settings, which may change while it runs, each declared once.

From the field of `CampaignSettings` follow the check, what a change stores and records, what a
continuation copies, the form of a page, the options of commands, the keys of study files, and the
bodies and the ETag of the API. A new setting takes a field here, a column with its migration, and
its use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, time
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from annotation.campaigns.declaration import Setting, settings_of
from annotation.campaigns.design import LARGEST, DesignError
from annotation.models import Campaign, ConsentText, GuidelineVersion, Item, User
from annotation.people.background import (
    LONGEST_SOURCE,
    BackgroundError,
    Question,
    as_toml,
    questions_of,
    read_rows,
    read_toml,
    stored_questions,
)
from annotation.people.consent import LONGEST_CONSENT, current_text
from annotation.people.pay import read_rate
from annotation.people.shares import (
    check_shares,
    current_shares,
    read_shares,
    set_shares,
    written_shares,
)
from annotation.provenance import guideline_digest
from tandem.verbs import verb_of

END_OF_DAY = time(23, 59, 59)
ASKED, WHOLE = "asked", "whole"
LONGEST_GUIDELINE = 100_000
CONSENT, GUIDELINE = "consent", "guideline"
"""The parts of a page that are not its list of settings."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")


def read_deadline(text: str) -> datetime:
    """Read an ISO 8601 time. A day means its end, and a time without a zone is in the site's.

    Raises DesignError.
    """
    try:
        moment, day = parse_datetime(text), parse_date(text)
    except ValueError:
        moment = day = None
    if day is not None:
        moment = datetime.combine(day, END_OF_DAY)
    if moment is None:
        form = "2026-12-31 or 2026-12-31T17:00+01:00"
        raise DesignError(f"deadline {text!r} is not a time; write it as {form}", "deadline")
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def _given_deadline(given: Any) -> datetime | None:
    return given if isinstance(given, datetime) else read_deadline(given) if given else None


def _check_deadline(campaign: Campaign, moment: datetime) -> None:
    if not 2000 <= moment.year <= 9998:
        # At the limits of the calendar, a change of time zone would make the row unreadable.
        raise ValueError("the deadline is not in the years 2000 to 9998; correct it")


def _local_deadline(campaign: Campaign) -> str:
    due = campaign.deadline
    return timezone.localtime(due).strftime("%Y-%m-%dT%H:%M") if due else ""


def _check_language(campaign: Campaign, tag: str) -> None:
    if tag and not _LANGUAGE.fullmatch(tag):
        raise ValueError(f"language {tag!r} is not a tag such as en or pt-BR; correct it")


def _check_gold_every(campaign: Campaign, number: int) -> None:
    if number != 0 and not 2 <= number <= 999:
        raise ValueError("gold every is 0, for never, or from 2 to 999; give another number")


def _check_qualify(campaign: Campaign, share: float) -> None:
    if not 0 < share <= 1:
        raise ValueError("qualify is not above 0 and up to 1; correct it")


def _check_registered(campaign: Campaign, number: int) -> None:
    if not 0 <= number <= LARGEST:
        raise ValueError(f"registered queries are not from 0 to {LARGEST}; give another number")


def practice_name(campaign: Campaign) -> str:
    return campaign.practice_of.name if campaign.practice_of else ""


def _other_practice(campaign: Campaign) -> str:
    return "" if campaign.practice_of_id == campaign.pk else practice_name(campaign)


def _practice_called(campaign: Campaign, name: str, user: User | None) -> Campaign | None:
    return Campaign.objects.filter(name=name).first()


def _check_practice(campaign: Campaign, name: str) -> None:
    if not name:
        return
    other = Campaign.objects.filter(name=name).first()
    if other is None:
        raise ValueError(
            f"practice names campaign {name!r}, which does not exist; correct the name"
        )
    if other.pk == campaign.pk:
        raise ValueError("a campaign's own practice comes first by itself; leave its name out")
    if not other.items.filter(use=Item.Use.PRACTICE).exists():
        raise ValueError(
            f"campaign {name!r} has no practice items; give it some by {verb_of('set_known')}"
        )


def _plain_lines(text: str) -> str:
    """Return a text with plain line ends and without blanks around it."""
    return text.replace("\r\n", "\n").strip()


def _store_guideline(campaign: Campaign, text: str, user: User | None) -> str:
    last = campaign.guidelines.order_by("-version").values_list("version", flat=True).first()
    GuidelineVersion.objects.create(
        campaign=campaign,
        version=(last or 0) + 1,
        text=text,
        digest=guideline_digest(text) if text else "",
        by=user,
    )
    return text


def consent_of(campaign: Campaign) -> str:
    """Return the campaign's current consent text; empty if it asks for no consent."""
    found = current_text(campaign)
    return found.text if found else ""


def _store_consent(campaign: Campaign, text: str, user: User | None) -> int:
    """Store a version of the consent text. Returns the number for `Campaign.consent_version`."""
    last = campaign.consent_texts.order_by("-version").values_list("version", flat=True).first()
    version = (last or 0) + 1
    ConsentText.objects.create(campaign=campaign, version=version, text=text, by=user)
    return version if text else 0


def _read_background(given: Any) -> tuple[Question, ...]:
    if isinstance(given, str):
        return read_toml(given.replace("\r\n", "\n"))
    if all(isinstance(each, Question) for each in given):
        return tuple(given)
    try:
        return read_rows(given)
    except BackgroundError as error:
        raise ValueError(f"background: {error}") from error


def _read_shares(given: Any) -> dict[str, float]:
    if isinstance(given, Mapping):
        return dict(given)
    pairs = given.split(",") if isinstance(given, str) else given
    return read_shares(pair for pair in pairs if pair.strip())


def _store_shares(campaign: Campaign, shares: dict[str, float], user: User | None) -> None:
    set_shares(campaign, shares)


def _setting(help: str, **about: Any) -> dict[str, Any]:
    return {"help": help, **about}


@dataclass(frozen=True)
class CampaignSettings:
    """Changes to a campaign's settings. None leaves a setting unchanged.

    An empty `guideline` restores the protocol's, and an empty `practice_of` removes the practice.
    `removed` names settings to remove, whatever their values.
    """

    deadline: datetime | None = field(
        default=None,
        metadata=_setting(
            "answers after this time do not count; a day such as 2026-12-31 counts until its end",
            hint="In the server’s time zone. Answers submitted later are kept as drafts.",
            public="no answer counts after this time",
            removal="remove the deadline",
            metavar="MOMENT",
            longest=40,
            read=_given_deadline,
            check=_check_deadline,
            shown=_local_deadline,
            copied=False,
            for_any_task=True,
        ),
    )
    language: str | None = field(
        default=None,
        metadata=_setting(
            "the language of the texts, such as en or pt-BR",
            hint="Language tag of the texts, such as en or pt-BR, for hyphens and screen readers.",
            public="language of its texts, if known",
            metavar="TAG",
            longest=35,
            empty="",
            check=_check_language,
            for_any_task=True,
        ),
    )
    text_view: str | None = field(
        default=None,
        metadata=_setting(
            "how texts in Markdown are first shown: as written (source), or rendered",
            label="Texts in Markdown",
            hint="What annotators see at first; each can switch. Highlights are the same in both.",
            public="how texts in Markdown are shown at first",
            values={"source": "As they were written", "rendered": "Rendered"},
            empty="source",
        ),
    )
    gold_every: int | None = field(
        default=None,
        metadata=_setting(
            "one gold item in each N items of a person, at a random position; 0 for none",
            label="Gold item every N items",
            hint="One gold item at a random place in every N items of a person. 0 or empty: none.",
            metavar="N",
            least=0,
            most=999,
            empty=0,
            check=_check_gold_every,
            copied=False,
        ),
    )
    practice_of: str | None = field(
        default=None,
        metadata=_setting(
            "another campaign whose practice people do first; not needed for the campaign's own",
            label="Practice of another campaign",
            hint="People do its practice items first. Leave “No” if this campaign has its own.",
            unset="No",
            metavar="CAMPAIGN",
            kind="name",
            empty="",
            current=practice_name,
            store=_practice_called,
            check=_check_practice,
            shown=_other_practice,
        ),
    )
    qualify: float | None = field(
        default=None,
        metadata=_setting(
            "the pass mark: the share of gold answers that must be correct in practice",
            label="Pass mark",
            hint="Share of correct practice answers, such as 0.8. Empty: any share will do.",
            removal="admit people once their practice is done",
            metavar="SHARE",
            least=0,
            most=1,
            check=_check_qualify,
        ),
    )
    guideline: str | None = field(
        default=None,
        metadata=_setting(
            "a Markdown file as guideline; an empty file restores the protocol's",
            api_help="Markdown instead of the protocol's guideline; empty restores the protocol's",
            hint="Markdown, for people and judges. Empty: the protocol’s own. Each change creates "
            "a new version, and every answer records the version that it followed.",
            metavar="F",
            longest=LONGEST_GUIDELINE,
            lines=14,
            empty="",
            group=GUIDELINE,
            read=_plain_lines,
            store=_store_guideline,
        ),
    )
    consent: str | None = field(
        default=None,
        metadata=_setting(
            "a Markdown file that people agree to before their first item; an empty file ends it",
            api_help="Markdown that people agree to before their first item; a changed text is "
            "a new version, to which people have to agree again; an empty text removes it",
            label="Consent text",
            hint="Markdown that people agree to before their first item. Each change is a new "
            "version, and asks everybody again. Empty: no consent is asked for.",
            metavar="F",
            longest=LONGEST_CONSENT,
            lines=8,
            empty="",
            group=CONSENT,
            column="consent_version",
            current=consent_of,
            read=_plain_lines,
            store=_store_consent,
            previewed=False,
        ),
    )
    revoked: str | None = field(
        default=None,
        metadata=_setting(
            "what happens to the answers of a person who revokes their consent: keep (the "
            "default) or delete; reports and exports leave them out in either case",
            label="When a person revokes their consent",
            hint="Reports and exports leave the answers out in either case.",
            values={
                "keep": "Keep the answers, for an audit or in case the person agrees again",
                "delete": "Delete the answers, with the background that the person gave",
            },
            initial="keep",
            group=CONSENT,
            previewed=False,
        ),
    )
    background: tuple[Question, ...] | None = field(
        default=None,
        metadata=_setting(
            "a TOML file of questions that people answer once, before their first item; an empty "
            "file removes them",
            api_help="questions that people answer once, before their first item; an empty list "
            "removes them",
            label="Background questions",
            hint="TOML, one table for each question: [first_language], then question = "
            "“Your first language?”, kind = “choice”, choices = [“German”, “another”], required = "
            "true, all with straight quotes. Kinds: choice, several, text, number. People answer "
            "once, before their first item.",
            metavar="F",
            kind="text",
            longest=LONGEST_SOURCE,
            lines=8,
            is_code=True,
            empty=(),
            group=CONSENT,
            current=lambda campaign: tuple(questions_of(campaign)),
            read=_read_background,
            store=lambda campaign, questions, user: stored_questions(questions),
            shown=lambda campaign: as_toml(questions_of(campaign)),
            previewed=False,
        ),
    )
    pay: str | None = field(
        default=None,
        metadata=_setting(
            "what people get, such as `0.35 EUR per item`, `14 EUR per hour` or `20 EUR per "
            "person`; empty for none",
            hint="For the table of pay and time: 0.35 EUR per item, 14 EUR per hour, or 20 EUR "
            "per person.",
            metavar="RATE",
            longest=60,
            empty="",
            read=lambda text: str(read_rate(text) or ""),
            previewed=False,
            for_any_task=True,
        ),
    )
    shares: dict[str, float] | None = field(
        default=None,
        metadata=_setting(
            "the fixed share of all answers that this account gives, such as ada=0.25; give it "
            "once for each person; the rest is for everybody else",
            api_help="the fixed share of all answers that each account gives, by its name; the "
            "rest is for everybody else; an empty object removes the shares",
            label="Fixed shares",
            hint="Who gives which share of all answers, by account: ada=0.25, ben=0.25. What is "
            "left is for everybody else. Empty: whoever comes first.",
            removal="remove the fixed shares of people",
            command="share",
            metavar="NAME=SHARE",
            longest=5000,
            least=0,
            most=1,
            empty={},
            column="",
            current=current_shares,
            read=_read_shares,
            store=_store_shares,
            check=lambda campaign, shares: check_shares(shares),
            shown=lambda campaign: written_shares(current_shares(campaign)),
            copied=False,
            previewed=False,
        ),
    )
    registered_queries: int | None = field(
        default=None,
        metadata=_setting(
            "the number of queries that the study's registered plan names; until people have "
            "labelled as many, reports say that they are interim; 0 for none",
            hint="How many the study’s registered plan names. Until people have labelled as many, "
            "reports say that they are interim. 0 or empty: none.",
            metavar="N",
            least=0,
            most=LARGEST,
            empty=0,
            check=_check_registered,
            copied=False,
        ),
    )
    guideline_shown: str | None = field(
        default=None,
        metadata=_setting(
            "what to show of the protocol's guideline: asked (the default of new campaigns), "
            "only the parts about the variables that the campaign asks; or whole",
            label="Of the protocol’s guideline, people and judges see",
            values={
                ASKED: "The parts about the variables that this campaign asks",
                WHOLE: "All of it",
            },
            initial=ASKED,
            group=GUIDELINE,
            column="trims_guideline",
            current=lambda campaign: ASKED if campaign.trims_guideline else WHOLE,
            store=lambda campaign, shown, user: shown == ASKED,
        ),
    )
    removed: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return all(getattr(self, each.name) == each.default for each in fields(self))

    def given(self) -> Iterator[tuple[Setting, Any]]:
        """Yield the settings that change, with their values; None removes one.

        Raises DesignError for a value that cannot be read.
        """
        for setting in settings_of(type(self)):
            option, value = setting.option, getattr(self, setting.name)
            if setting.name in self.removed and (value is None or option.may_lack):
                yield setting, None if option.may_lack else option.empty
            elif value is not None:
                yield setting, setting.read_value(value)


SETTINGS = settings_of(CampaignSettings)
OPTIONS = tuple(setting.option for setting in SETTINGS)
