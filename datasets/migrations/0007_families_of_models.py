from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("datasets", "0006_digests_of_queries"),
    ]

    operations = [
        migrations.AddField(
            model_name="report",
            name="family",
            field=models.CharField(max_length=255, null=True),
        ),
    ]
