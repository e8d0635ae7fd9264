# The triggers that write the rows are put in place after all migrations (annotation.tallies).

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0007_draws_of_earlier_campaigns'),
    ]

    operations = [
        migrations.CreateModel(
            name='Tally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('what', models.CharField(max_length=40)),
                ('number', models.IntegerField()),
                ('campaign', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='tallies', to='annotation.campaign')),
                ('rater', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='annotation.rater')),
            ],
            options={
                'indexes': [models.Index(models.F('campaign'), models.F('what'), models.F('rater'), name='tallies_of_a_campaign')],
            },
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(models.F('item'), condition=models.Q(('slot__isnull', False), ('status', 'open')), name='places_held'),
        ),
    ]
