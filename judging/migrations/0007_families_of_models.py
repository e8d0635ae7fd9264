from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0006_thinking_tokens"),
    ]

    operations = [
        migrations.AddField(
            model_name="judge",
            name="family",
            field=models.CharField(blank=True, default="", max_length=255),
        ),
    ]
