"""Plans by which labels prove what a judge may decide, in tables whose rows never change."""

from functools import partial

import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models

from audit.append_only import migrate, migrate_back

TABLES = (
    "annotation_trustplan",
    "annotation_trustdraw",
    "annotation_trustlook",
    "annotation_trustcertificate",
    "annotation_trustend",
)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0035_protocol_files'),
        ('datasets', '0016_nuggets_and_sentence_citations'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='has_plan',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name='TrustPlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('kind', models.CharField(choices=[('certify', 'Certify'), ('compare', 'Compare')], max_length=7)),
                ('variable', models.CharField(max_length=40)),
                ('number', models.PositiveSmallIntegerField()),
                ('document', models.JSONField()),
                ('digest', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='trust_plans', to='annotation.campaign')),
                ('judge', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='trust_plans', to='annotation.rater')),
            ],
            options={
                'ordering': ('id',),
            },
        ),
        migrations.CreateModel(
            name='TrustLook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('labelled', models.PositiveIntegerField()),
                ('state', models.JSONField()),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='looks', to='annotation.trustplan')),
            ],
            options={
                'ordering': ('plan', 'id'),
            },
        ),
        migrations.CreateModel(
            name='TrustEnd',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('plan', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='end', to='annotation.trustplan')),
            ],
        ),
        migrations.CreateModel(
            name='TrustDraw',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('place', models.PositiveIntegerField()),
                ('cut', models.PositiveSmallIntegerField()),
                ('drawn_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='datasets.query')),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='draws', to='annotation.trustplan')),
            ],
            options={
                'ordering': ('plan', 'place'),
            },
        ),
        migrations.CreateModel(
            name='TrustCertificate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.JSONField()),
                ('digest', models.CharField(max_length=64)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='certificates', to='annotation.trustplan')),
            ],
            options={
                'ordering': ('plan', 'id'),
            },
        ),
        migrations.AddConstraint(
            model_name='trustplan',
            constraint=models.UniqueConstraint(models.F('campaign'), models.F('kind'), models.F('variable'), models.F('judge'), models.F('number'), name='a_plan_is_numbered_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='trustdraw',
            constraint=models.UniqueConstraint(models.F('plan'), models.F('place'), name='a_draw_has_one_place'),
        ),
        migrations.AddConstraint(
            model_name='trustdraw',
            constraint=models.UniqueConstraint(models.F('plan'), models.F('query'), name='a_plan_draws_a_query_once'),
        ),
        migrations.RunPython(
            partial(migrate, tables=TABLES), partial(migrate_back, tables=TABLES)
        ),
    ]
