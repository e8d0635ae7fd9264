"""Divide each lane by the models of its runs' judges. Its runs go along."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def divide_lanes(apps: Any, schema_editor: Any) -> None:
    lanes = apps.get_model("judging", "Lane")._default_manager
    runs = apps.get_model("judging", "JudgeRun")._default_manager
    for lane in list(lanes.all()):
        names = runs.filter(lane=lane).order_by().values_list("judge__model", flat=True)
        for number, model in enumerate(sorted(set(names))):
            if number == 0:
                lanes.filter(pk=lane.pk).update(model=model)
                continue
            fields = ("endpoint", "api_key_env", "headers", "ceiling", "paused", "paused_at")
            copied = {name: getattr(lane, name) for name in fields}
            runs.filter(lane=lane, judge__model=model).update(
                lane=lanes.create(model=model, **copied)
            )


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0016_grants"),
    ]

    operations = [migrations.RunPython(divide_lanes, migrations.RunPython.noop)]
