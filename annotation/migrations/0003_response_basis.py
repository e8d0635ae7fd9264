from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0002_item_drawn"),
    ]

    operations = [
        migrations.AddField(
            model_name="response",
            name="basis",
            field=models.CharField(max_length=38, null=True),
        ),
    ]
