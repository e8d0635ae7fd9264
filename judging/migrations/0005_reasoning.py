from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0004_judge_files")]

    operations = [
        migrations.AddField(
            model_name="judgecall",
            name="reasoning",
            field=models.TextField(blank=True, default=""),
        ),
    ]
