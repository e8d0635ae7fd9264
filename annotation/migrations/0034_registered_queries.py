"""The number of queries that a study's registered plan names."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0033_tables_of_axes'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='registered_queries',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]
