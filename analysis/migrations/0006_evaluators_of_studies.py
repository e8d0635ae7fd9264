"""Studies declare evaluators: sets of judges that count as one."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0005_tags_sections_and_drafts")]

    operations = [
        migrations.AddField("study", "evaluators", models.JSONField(default=dict)),
    ]
