from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0010_words_of_items")]
    operations = [
        migrations.AddField("item", "passage_uses", models.JSONField(null=True)),
    ]
