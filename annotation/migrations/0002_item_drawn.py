from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="item",
            name="drawn",
            field=models.JSONField(null=True),
        ),
    ]
