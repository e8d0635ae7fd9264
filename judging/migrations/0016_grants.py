"""A lane belongs to one model, and its calls are granted instead of leased."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0015_judge_protocol_files"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="lane", name="a_lane_is_there_once"),
        migrations.AlterModelOptions(
            name="lane", options={"ordering": ("endpoint", "api_key_env", "model")}
        ),
        migrations.AddField(
            model_name="lane",
            name="model",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.AddField(
            model_name="lane", name="refused_at", field=models.DateTimeField(null=True)
        ),
        migrations.RemoveField(model_name="lane", name="lease"),
        migrations.RemoveField(model_name="lane", name="lease_until"),
        migrations.AddConstraint(
            model_name="lane",
            constraint=models.UniqueConstraint(
                models.F("endpoint"),
                models.F("api_key_env"),
                models.F("headers"),
                models.F("model"),
                name="a_lane_is_there_once",
            ),
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("holder", models.UUIDField()),
                ("calls", models.PositiveIntegerField()),
                ("in_flight", models.PositiveIntegerField()),
                ("most", models.PositiveIntegerField()),
                ("sends_until", models.DateTimeField()),
                ("frees_at", models.DateTimeField()),
                (
                    "lane",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="judging.lane",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="judging.judgerun",
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
                "constraints": [
                    models.UniqueConstraint(
                        models.F("lane"), models.F("holder"), name="one_grant_on_a_lane"
                    )
                ],
            },
        ),
    ]
