"""New names of three models in the code. Their tables stay as they are."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

MODELS = (
    ("QueryDraw", "QuerySampling"),
    ("UnitDraw", "UnitSampling"),
    ("KnownAnswer", "GoldAnswer"),
)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0012_numbers_that_files_gave"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                *(migrations.RenameModel(old, new) for old, new in MODELS),
                *(
                    migrations.AlterModelTable(new, f"annotation_{old.lower()}")
                    for old, new in MODELS
                ),
                migrations.AlterField(
                    "QuerySampling",
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="query_samplings",
                        to="annotation.campaign",
                    ),
                ),
                migrations.AlterField(
                    "UnitSampling",
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="unit_samplings",
                        to="annotation.item",
                    ),
                ),
                migrations.AlterField(
                    "GoldAnswer",
                    "unit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="gold_answers",
                        to="annotation.unit",
                    ),
                ),
            ]
        )
    ]
