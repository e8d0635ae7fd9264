"""A process that sends many log-ins with wrong passwords at once, over a file database.

`python -m tests.security.log_in_attempts NAME NUMBER WHERE` prints, as JSON, how many passwords
were checked and how often each status was returned. WHERE is `here` if all requests come from one
address, or `everywhere` if each comes from its own; the account is then slowed down after ten.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter

from tests.patience import wait_long

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


def main(name: str, number: int, where: str) -> None:
    import django

    django.setup()

    from django.conf import settings
    from django.contrib.auth.backends import ModelBackend
    from django.contrib.auth.hashers import Argon2PasswordHasher

    settings.LOGIN_TRIES = {**settings.LOGIN_TRIES, "account": 10}
    wait_long(settings.DATABASES["default"])
    # Production hashing takes a third of a second per password; here a cheap hash is enough.
    Argon2PasswordHasher.time_cost, Argon2PasswordHasher.memory_cost = 1, 1024
    checked: list[object] = []
    authenticate = ModelBackend.authenticate

    def counted(self: ModelBackend, request: object, *args: object, **given: object) -> object:
        checked.append(given)
        return authenticate(self, request, *args, **given)  # type: ignore[arg-type]

    ModelBackend.authenticate = counted  # type: ignore[method-assign,assignment]
    statuses = _at_once(name, number, where)
    print(json.dumps({"checked": len(checked), "statuses": Counter(map(str, statuses))}))


def _at_once(name: str, number: int, where: str) -> list[int]:
    from django.db import connection
    from django.test import Client

    barrier, found = threading.Barrier(number), list[int]()

    def one(n: int) -> None:
        barrier.wait()
        address = "10.1.0.0" if where == "here" else f"10.1.0.{n}"
        client = Client(REMOTE_ADDR=address, SERVER_NAME="localhost")
        found.append(
            client.post("/login/", {"username": name, "password": f"guess {n}"}).status_code
        )
        connection.close()

    threads = [threading.Thread(target=one, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
