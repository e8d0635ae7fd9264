"""The table of rendered texts. It starts empty: jobs fill it when pages first miss a text."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0030_digests_of_session_keys")]
    operations = [
        migrations.CreateModel(
            name="Rendering",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("version", models.CharField(db_index=True, max_length=16)),
                ("html", models.BinaryField(null=True)),
                ("reason", models.CharField(default="", max_length=8)),
            ],
        ),
    ]
