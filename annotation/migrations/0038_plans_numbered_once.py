"""SQLite ignored the constraint that plans are numbered once, since it counts nulls as different."""

import django.db.models.functions.comparison
from django.db import migrations, models

class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0037_draws_of_cells'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='trustplan',
            name='a_plan_is_numbered_once',
        ),
        migrations.AddConstraint(
            model_name='trustplan',
            constraint=models.UniqueConstraint(models.F('campaign'), models.F('kind'), models.F('variable'), django.db.models.functions.comparison.Coalesce('judge', 0), models.F('number'), name='a_plan_is_numbered_once'),
        ),
    ]
