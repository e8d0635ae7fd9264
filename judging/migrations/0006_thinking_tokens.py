from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0005_reasoning"),
    ]

    operations = [
        migrations.AddField(
            model_name="judgerun",
            name="thinking_tokens",
            field=models.PositiveBigIntegerField(default=0),
        ),
    ]
