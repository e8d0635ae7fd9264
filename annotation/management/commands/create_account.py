"""`create_account`: creates an account with one of the three roles."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction

from annotation.models import User
from audit.recording import record
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = (
        "Create an account. The password is asked for, or read from the first line of standard "
        "input."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--role", choices=User.Role.values, default=User.Role.ANNOTATOR.value)

    def run(self, **options: Any) -> None:
        if User.objects.filter(username=options["name"]).exists():
            raise CommandError(f"An account {options['name']!r} exists; choose another name.")
        user = User(username=options["name"], role=options["role"])
        password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
        try:
            user.full_clean(exclude=["password"])
            validate_password(password, user)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        user.set_password(password)
        with transaction.atomic():
            user.save()
            record("account.made", of=("account", user.pk), role=user.role)
        self.say(f"Created account {user.username!r} with the role {user.role}.")
