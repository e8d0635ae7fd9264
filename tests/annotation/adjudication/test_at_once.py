"""One decision counts if several adjudicators decide a unit at the same moment."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from annotation.answers.types import ConflictError
from annotation.models import Assignment, Decision, User
from annotation.people.membership import add_member
from tests.annotation.adjudication.cast import decided, make_dispute

pytestmark = pytest.mark.postgresql

CROWD = 6


@pytest.mark.django_db(transaction=True)
def test_one_of_simultaneous_decisions_is_stored_and_the_others_conflict() -> None:
    there = make_dispute()
    unit, barrier, said = there.units[0], threading.Barrier(CROWD), list[str]()
    people = [User.objects.create(username=f"a{n}", role="annotator") for n in range(CROWD)]
    for user in people:
        add_member(there.study.campaign, user, "adjudicator")

    def come(user: User) -> None:
        barrier.wait()
        try:
            decided(there, unit, "no", by=user, reason=f"says {user.username}")
            said.append(user.username)
        except ConflictError:
            said.append("conflict")
        finally:
            connection.close()

    threads = [threading.Thread(target=come, args=(user,)) for user in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == CROWD
    assert said.count("conflict") == CROWD - 1
    (winner,) = [name for name in said if name != "conflict"]
    decision = Decision.objects.get()
    assert decision.by.user is not None
    assert (decision.by.user.username, decision.response.comment) == (winner, f"says {winner}")
    assert Assignment.objects.filter(rater__kind="reference").count() == 1
