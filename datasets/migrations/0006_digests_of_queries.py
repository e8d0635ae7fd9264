import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Batches from before get theirs by `check_invariants`, which first looks whether they hold."""

    dependencies = [("datasets", "0005_report_key_points")]
    operations = [
        migrations.CreateModel(
            name="QueryDigest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("line", models.CharField(max_length=64)),
                ("texts", models.JSONField()),
                (
                    "query",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="digest",
                        to="datasets.query",
                    ),
                ),
            ],
        ),
    ]
