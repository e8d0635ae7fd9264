"""The team that an invited account joins."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0025_fixed_shares'),
        ('datasets', '0014_history_of_queries'),
    ]

    operations = [
        migrations.AddField(
            model_name='invitation',
            name='team',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='datasets.team'),
        ),
    ]
