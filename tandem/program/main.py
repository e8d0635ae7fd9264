"""From the words of a command line to a verb, and its exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tandem.place import set_umask
from tandem.program.processes import PlatformError, become, prepare, take_data_folder
from tandem.similar import most_similar
from tandem.verbs import (
    BY_COMMAND,
    BY_WORDS,
    COMPLETION,
    NOUNS,
    PROCESSES,
    SHELLS,
    TREE,
    WITHOUT_COMMAND,
    Verb,
    first_words,
    unknown,
    verbs_of,
)

OK, REFUSED, USAGE, DIFFERS = range(4)
"""The exit statuses. The last one means that something differs or is left to do."""
HELP = ("-h", "--help")
WIDTH = 22
OPTIONS = """\
Every verb has --help, and takes --json (one JSON object instead of lines) and --quiet (no
progress, no remarks). Those that need the site take --data FOLDER, where its data are.
The name of a campaign, judge or batch needs no option: `tandem measures NAME`. The commands of
manage.py work under their own names, too: `tandem load_batch`, `tandem collectstatic`.
Exit status: 0 done, 1 refused, 2 not understood, 3 something differs or is left to do.
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line, by default this process's, and return its exit status."""
    set_umask()
    if "_ARGCOMPLETE" in os.environ:
        from tandem.program.completion import complete

        return complete()
    try:
        return _run(list(sys.argv[1:] if words is None else words))
    except PlatformError as error:
        print(error, file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        # The reader of our output, such as `head`, closed it. Stored data are committed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED


def _run(words: list[str]) -> int:
    try:
        words = take_data_folder(words)
    except ValueError as error:
        return _misunderstood(str(error))
    if not words:
        print(overview(), file=sys.stderr)
        return USAGE
    first, *rest = words
    if first in (*HELP, "help"):
        print(overview())
        return OK
    if first == "--version":
        from tandem.version import COMMIT, VERSION

        print(f"Tandem {VERSION}" + (f" ({COMMIT[:8]})" if COMMIT else ""))
        return OK
    if first == COMPLETION:
        return _completion(rest)
    if first in PROCESSES:
        return become(first, rest)
    if (verb := BY_WORDS.get((first,))) is not None:
        return run_verb(verb, rest)
    if verbs_of(first):
        return _of_noun(first, rest)
    if (verb := BY_COMMAND.get(first)) is not None:
        return run_verb(verb, rest)
    if (status := _as_django(words)) is not None:
        return status
    return _misunderstood(unknown("verb", first, first_words()))


def _of_noun(noun: str, rest: list[str]) -> int:
    verbs = verbs_of(noun)
    if not rest or rest[0] in HELP:
        print(_lines(verbs), file=sys.stdout if rest else sys.stderr)
        return OK if rest else USAGE
    verb = BY_WORDS.get((noun, rest[0]))
    if verb is None:
        return _misunderstood(unknown(f"verb of {noun}", rest[0], [v.words[1] for v in verbs]))
    return run_verb(verb, rest[1:])


def run_verb(verb: Verb, arguments: list[str]) -> int:
    """Run a verb; Django starts only if the verb asks the database."""
    if verb.command in ("report", "check_trust"):
        from tandem.program.report import check_files, is_of_files, report_files

        if is_of_files(arguments):
            return (report_files if verb.command == "report" else check_files)(arguments)
    if verb.command == "verify":
        from tandem.program.verify import verify_folder

        return verify_folder(arguments)
    if verb.command == "gate":
        from tandem.program.gate import gate

        if (status := gate(arguments)) is not None:
            return status
    from tandem.program.site import run_command

    prepare(verb.command)
    return run_command(verb, arguments)


def _as_django(words: list[str]) -> int | None:
    """Run the words like manage.py. Return None if it has no such command either."""
    if most_similar(words[0], first_words()):
        return None
    from tandem.program.site import run_django

    prepare(words[0])
    return run_django(words)


def _completion(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in SHELLS:
        return _misunderstood(f"Name a shell: {', '.join(SHELLS)}.")
    from tandem.program.completion import shell_code

    print(shell_code(arguments[0]))
    return OK


def _misunderstood(text: str) -> int:
    print(text, file=sys.stderr)
    return USAGE


def overview() -> str:
    """Return the whole tree, one line per verb."""
    alone = [verb for verb in TREE if len(verb.words) == 1]
    parts = ["usage: tandem VERB …, or tandem NOUN VERB …", "", _lines(alone)]
    parts += [f"  {word:{WIDTH}}{help}" for word, help in WITHOUT_COMMAND.items()]
    for noun, what in NOUNS.items():
        parts += ["", f"{noun}: {what}", _lines(verbs_of(noun))]
    return "\n".join([*parts, "", OPTIONS.rstrip()])


def _lines(verbs: Sequence[Verb]) -> str:
    return "\n".join(f"  {verb.name:{WIDTH}}{verb.help}" for verb in verbs)
