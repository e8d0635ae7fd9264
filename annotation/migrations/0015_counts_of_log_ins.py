"""Counts of wrong passwords without names and addresses; 0033 drops those that had both."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0014_answers_of_parsers'),
    ]

    operations = [
        migrations.CreateModel(
            name='LogInCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('address', 'Address'), ('device', 'Device'), ('account', 'Account'), ('network', 'Network'), ('code', 'Code'), ('codes', 'Codes'), ('known', 'Known')], max_length=7)),
                ('account', models.CharField(blank=True, default='', max_length=32)),
                ('source', models.CharField(blank=True, default='', max_length=32)),
                ('wrong', models.PositiveIntegerField(default=0)),
                ('since', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('kind'), models.F('account'), models.F('source'), name='one_count_of_log_ins_a_source')],
            },
        ),
    ]
