"""The manager that looks accounts up, which is no part of a migration."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("annotation", "0028_adjudication_requests")]
    operations = [migrations.AlterModelManagers(name="user", managers=[])]
