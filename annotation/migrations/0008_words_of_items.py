from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0007_draws_of_earlier_campaigns")]
    operations = [
        migrations.AddField("item", "words", models.PositiveIntegerField(null=True)),
    ]
