from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0006_evaluators_of_studies")]

    operations = [
        migrations.AddField(
            model_name="study",
            name="options",
            field=models.JSONField(default=dict),
        ),
    ]
