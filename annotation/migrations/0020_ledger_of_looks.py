"""A ledger of what accounts could see of others' answers, and marks on answers given after it."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0019_carried_answers"),
    ]

    operations = [
        migrations.AddField(
            model_name='response',
            name='exposed',
            field=models.BooleanField(null=True),
        ),
        migrations.CreateModel(
            name='Look',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=20)),
                ('scope', models.JSONField(null=True)),
                ('number', models.PositiveIntegerField(null=True)),
                ('exposing', models.BooleanField()),
                ('upto', models.BigIntegerField()),
                ('digest', models.CharField(max_length=16)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='looks', to='annotation.campaign')),
                ('rater', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.rater')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='looks', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('id',),
            },
        ),
        migrations.CreateModel(
            name='Exposure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=20)),
                ('at', models.DateTimeField()),
                ('units', models.JSONField()),
                ('response', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exposures', to='annotation.response')),
                ('look', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='exposures', to='annotation.look')),
            ],
            options={
                'ordering': ('response', 'id'),
            },
        ),
        migrations.AddIndex(
            model_name='look',
            index=models.Index(models.F('user'), models.F('campaign'), condition=models.Q(('exposing', True)), name='looks_that_expose'),
        ),
        migrations.AddConstraint(
            model_name='look',
            constraint=models.UniqueConstraint(models.F('user'), models.F('campaign'), models.F('kind'), models.F('digest'), models.F('upto'), name='a_look_is_recorded_once'),
        ),
        migrations.AddConstraint(
            model_name='exposure',
            constraint=models.UniqueConstraint(models.F('response'), models.F('look'), name='a_look_exposes_an_answer_once'),
        ),
    ]
