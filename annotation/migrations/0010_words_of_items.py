from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0009_decisions")]
    operations = [
        migrations.AddField("item", "words", models.PositiveIntegerField(null=True)),
    ]
