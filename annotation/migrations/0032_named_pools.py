"""New campaigns are for named people. Existing ones keep their pool: no row changes."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0031_renderings")]
    operations = [
        # The database holds neither the default nor the words of the choices.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="campaign",
                    name="pool",
                    field=models.CharField(
                        choices=[
                            (
                                "named",
                                "Named: only members take part, and only they and its managers see it",
                            ),
                            (
                                "open",
                                "Open: every account that may label takes part",
                            ),
                        ],
                        default="named",
                        max_length=5,
                    ),
                ),
            ],
        ),
    ]
