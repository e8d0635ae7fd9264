from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0003_tokens")]
    operations = [
        migrations.AddField("grounding", "use", models.CharField(max_length=20, null=True)),
    ]
