"""The tree of the nouns and verbs of `tandem`.

Each verb runs a command of manage.py, whose name does not change. Verbs are added together with
their commands. Messages of all apps name a command by its verb, with `verb_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.similar import did_you_mean

NOUNS = {
    "batch": "queries, reports and passages to be judged",
    "campaign": "a protocol over a batch, with its design",
    "judge": "models that answer like people",
    "people": "accounts, and who takes part",
    "study": "a whole study, as one file describes it",
    "token": "keys of the API",
    "team": "people who share batches, campaigns and judges",
    "protocol": "tasks of a team's own, each in one file",
    "trust": "what a judge may decide, proven by query",
    "labels": "labels from other tools",
    "dispute": "units that raters disagree on",
    "audit": "the log of who did what",
}
SHELLS = ("bash", "zsh", "fish")
COMPLETION = "completion"
PROCESSES = {
    "serve": "the site with its workers, as on a server",
    "worker": "one more worker for judges' runs, beside a site",
}
WITHOUT_COMMAND = {**PROCESSES, COMPLETION: f"completion of names for {', '.join(SHELLS)}"}
"""Verbs of the program alone, which have no command of manage.py."""


@dataclass(frozen=True)
class Verb:
    """A verb: its words, its summary, and its command.

    `subject` is the command's option to which a first word without dashes belongs. `action` is the
    first word for a command of several actions, and `usage` what follows it.
    """

    words: tuple[str, ...]
    help: str
    command: str
    subject: str = ""
    action: str = ""
    usage: str = ""

    @property
    def name(self) -> str:
        return " ".join(self.words)


def _verb(name: str, command: str, help: str, subject: str = "") -> Verb:
    return Verb(tuple(name.split()), help, command, subject)


def _protocol(action: str, usage: str, help: str) -> Verb:
    return Verb(("protocol", action), help, "protocol", action=action, usage=usage)


def _trust(action: str, usage: str, help: str) -> Verb:
    return Verb(("trust", action), help, "trust", action=action, usage=usage)


def _team(action: str, usage: str, help: str) -> Verb:
    return Verb(("team", action), help, "team", action=action, usage=usage)


TREE = (
    _verb("report", "report", "agreement of people, judges, and scores of systems", "--campaign"),
    _verb("measures", "measures", "the papers' measures, by system", "--campaign"),
    _verb("figures", "figure", "figures as files, also for print", "--campaign"),
    _verb("progress", "progress", "the status of a campaign, person by person"),
    _verb("export", "export", "labels, answers, spans and units of a campaign", "--campaign"),
    _verb("work", "work", "carry out reports and exports that pages ask for"),
    _verb("migrate", "migrate", "create the tables of the database, or bring them up to date"),
    _verb("check", "check_invariants", "check that no answer is lost, duplicated or invented"),
    _verb("doctor", "doctor", "examine the installation: each line is well, or the mend"),
    _verb("backup", "backup", "write the site's data into one archive, while people save"),
    _verb("restore", "restore", "restore a backup into an empty place, or test that it works"),
    _verb("init", "init_study", "a folder with a study that runs, on made-up data"),
    _verb("verify", "verify", "check a release, an export or a certificate, without a database"),
    _verb("gate", "gate", "conditions of a release: they hold, fail, or are not decided"),
    _verb("demo", "demo", "a made-up study from end to end, in the browser"),
    _verb("study plan", "plan_study", "what applying a study file would create and change"),
    _verb("study apply", "apply_study", "do it, up to where people have to work first"),
    _verb("study status", "study_status", "the chain with counts, and the next step"),
    _verb("study evaluators", "study_evaluators", "judges that count as one: list, declare"),
    _verb("study freeze", "freeze_study", "write a release that others can check and read"),
    _verb("paper", "paper", "a paper's own tables, filled from a study"),
    _verb("batch load", "load_batch", "load files as a batch, all or nothing"),
    _verb("batch schema", "batch_format", "the native format: its schema, or an example"),
    _verb("batch prepare", "prepare_batch", "have a judge write parts of a batch", "--batch"),
    _verb("batch review", "review_batch", "review what was written for a step", "--batch"),
    _verb("batch derive", "derive_batch", "create a batch from people's decisions, by a rule"),
    _verb("batch lineage", "batch_lineage", "show where a batch comes from, back to the files"),
    _verb("batch build", "build_batch", "create a batch from what was accepted", "--batch"),
    _verb("campaign create", "create_campaign", "start a campaign"),
    _verb("campaign show", "show_campaign", "answers, agreement, and what needs attention"),
    _verb("campaign set", "set_campaign", "deadline, guideline, practice; close and open"),
    _verb("campaign people", "campaign_people", "who answers, and who counts"),
    _verb("campaign draws", "draws", "show the sample, or replay it from the seed", "--campaign"),
    _verb("campaign label-first", "label_first", "units to label first, or a campaign of them"),
    _verb("campaign gold", "set_known", "take gold answers from labels files"),
    _verb("judge create", "create_judge", "define a judge"),
    _verb("judge library", "judge_library", "the library of judge files: list, show, add"),
    _verb("judge run", "run_judge", "ask a judge, or continue an interrupted run", "--judge"),
    _verb("judge bench", "bench_judges", "several judges in one table", "--campaign"),
    _verb("judge jury", "create_jury", "combine several judges into one"),
    _verb("judge price", "create_price", "set what a model costs from a given day"),
    _verb("judge manifest", "judge_manifest", "show the setup of a judge's runs", "--judge"),
    _verb("judge record", "record_replies", "record a server's replies for tests", "--judge"),
    _verb("judge robustness", "robustness", "ask a judge again under perturbations", "--judge"),
    _verb("people add", "create_account", "create an account"),
    _verb("people set", "person", "show an account, or change it"),
    _verb("people unlock", "unlock", "open log-in again after wrong passwords"),
    _verb("people log-in", "log_in_link", "print a link that logs one account in, once"),
    _verb("people invite", "invite", "create a link for one person"),
    _verb("people admit", "admit", "admit a person who did not pass the practice"),
    _verb("people consent", "consents", "who agreed to the consent text; revoke for a person"),
    _verb("people pay", "pay", "items, time and pay of each person, as a table for the paper"),
    _verb("token create", "create_token", "create, list or revoke tokens"),
    _protocol("check", "FILE [--batch NAME]", "check a protocol’s file, also against a batch"),
    _protocol("add", "FILE", "add a protocol to a team, or a new version of one"),
    _protocol("list", "", "the protocols of the site and of teams"),
    _protocol("show", "NAME", "print the file of a team’s protocol"),
    _protocol("delete", "NAME@VERSION", "delete a version that no campaign uses"),
    _protocol("schema", "", "print the JSON Schema of such files, for editors"),
    _verb("trust check", "check_trust", "how wrong is a judge where it is surest", "--campaign"),
    _trust("plan", "CAMPAIGN --variable V --judge J", "commit before the first label"),
    _trust("draw", "CAMPAIGN [--queries N]", "ask people about the next queries of the plan"),
    _trust("look", "CAMPAIGN", "what the labels prove so far, as often as you like"),
    _verb("trust compare", "compare_systems", "which of two systems is better, or how many more"),
    _trust("certificate", "CAMPAIGN [--output FILE]", "what is proven, for others to check"),
    _trust("end", "CAMPAIGN [--reason TEXT]", "end the plan: its labels are like all others"),
    _team("list", "", "teams with their members, and how much they have"),
    _team("create", "NAME [--owner ACCOUNT]", "create a team"),
    _team("rename", "TEAM NAME", "give a team another name"),
    _team("add", "TEAM ACCOUNT [--as ROLE]", "let an account in, or change its role"),
    _team("remove", "TEAM ACCOUNT", "remove an account from a team"),
    _team("share", "KIND NAME --with TEAM", "let another team read or manage something"),
    _team("move", "KIND NAME --to TEAM", "give something to another team"),
    _team("history", "", "what went to which team, at the upgrade and since"),
    _verb("labels import", "import_labels", "import labels from other tools, all or nothing"),
    _verb(
        "dispute units",
        "disagreements",
        "units that differ, and what to do with them",
        "--campaign",
    ),
    _verb("dispute list", "disputes", "count disputed and decided units", "--campaign"),
    _verb("audit check", "check_audit", "check that the log is as it was sealed"),
    _verb("audit seal", "seal_audit", "seal the events since the last seal"),
)
BY_WORDS = {verb.words: verb for verb in TREE}
BY_COMMAND = {verb.command: verb for verb in TREE if not verb.action}


def verb_of(command: str) -> str:
    """Return what to type for a command of manage.py: `tandem labels import`."""
    return f"tandem {BY_COMMAND[command].name}"


def verbs_of(noun: str) -> list[Verb]:
    """Return the verbs of a noun; none if it is a verb itself, or unknown."""
    return [verb for verb in TREE if len(verb.words) == 2 and verb.words[0] == noun]


def first_words() -> list[str]:
    """Return all words that may come first."""
    return [*dict.fromkeys(verb.words[0] for verb in TREE), *WITHOUT_COMMAND]


def unknown(what: str, word: str, existing: Sequence[str]) -> str:
    """Explain that a word is not in the tree."""
    hint = did_you_mean(word, existing, f"there are {', '.join(existing)}.")
    return f"There is no {what} {word!r}; {hint}"
