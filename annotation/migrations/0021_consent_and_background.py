"""Consent texts of campaigns, people's consents, and background questions with their answers."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0020_ledger_of_looks'),
        ('datasets', '0012_requests_for_jobs'),
    ]

    operations = [
        migrations.CreateModel(
            name='Background',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('answers', models.JSONField()),
                ('answered_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='Consent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('given_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('revoked_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ('id',),
            },
        ),
        migrations.CreateModel(
            name='ConsentText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ('campaign', 'version'),
            },
        ),
        migrations.AddField(
            model_name='campaign',
            name='background',
            field=models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
        ),
        migrations.AddField(
            model_name='campaign',
            name='consent_version',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='campaign',
            name='revoked',
            field=models.CharField(choices=[('keep', 'Keep'), ('delete', 'Delete')], db_default='keep', default='keep', max_length=6),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('revoked__in', ('keep', 'delete'))), name='fate_of_answers_is_known'),
        ),
        migrations.AddField(
            model_name='background',
            name='campaign',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='backgrounds', to='annotation.campaign'),
        ),
        migrations.AddField(
            model_name='background',
            name='rater',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='backgrounds', to='annotation.rater'),
        ),
        migrations.AddField(
            model_name='consent',
            name='rater',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consents', to='annotation.rater'),
        ),
        migrations.AddField(
            model_name='consenttext',
            name='by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='consenttext',
            name='campaign',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consent_texts', to='annotation.campaign'),
        ),
        migrations.AddField(
            model_name='consent',
            name='text',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consents', to='annotation.consenttext'),
        ),
        migrations.AddConstraint(
            model_name='background',
            constraint=models.UniqueConstraint(models.F('campaign'), models.F('rater'), name='a_background_is_given_once'),
        ),
        migrations.AddConstraint(
            model_name='consenttext',
            constraint=models.UniqueConstraint(models.F('campaign'), models.F('version'), name='consent_texts_are_numbered_once'),
        ),
        migrations.AddConstraint(
            model_name='consent',
            constraint=models.UniqueConstraint(models.F('text'), models.F('rater'), condition=models.Q(('revoked_at', None)), name='a_version_is_agreed_to_once'),
        ),
    ]
