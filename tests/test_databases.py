"""What the tests say of a database: whether anything changed in it."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.utils import timezone

from annotation.models import User
from tests.databases import unchanged

pytestmark = pytest.mark.django_db


def test_a_row_that_changes_is_noticed() -> None:
    user = User.objects.create(username="ada")
    with pytest.raises(AssertionError), unchanged():
        User.objects.filter(pk=user.pk).update(username="eve")
    with pytest.raises(AssertionError), unchanged():
        User.objects.create(username="ben")
    with pytest.raises(AssertionError), unchanged(), connection.cursor() as cursor:
        cursor.execute("WITH rows AS (SELECT 1) DELETE FROM datasets_teammember")


def test_what_is_undone_or_read_or_left_out_is_no_change() -> None:
    User.objects.create(username="ada")
    with unchanged():
        assert User.objects.count() == 1
        with transaction.atomic():
            User.objects.update(username="eve")
            transaction.set_rollback(True)
        Session.objects.create(session_key="s", session_data="", expire_date=timezone.now())
    with unchanged((User,)):
        User.objects.update(username="eve")
