"""Which team owns a judge and a price; judging.0009 says so for those that exist."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0017_teams"),
        ("datasets", "0010_teams"),
        ('judging', '0007_families_of_models'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Key",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("variable", models.CharField(max_length=100, unique=True)),
                (
                    "made_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="datasets.team",
                    ),
                ),
            ],
            options={"ordering": ("variable",)},
        ),
        migrations.CreateModel(
            name="KeyShare",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "right",
                    models.CharField(
                        choices=[("read", "Read"), ("manage", "Manage")],
                        default="read",
                        max_length=6,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "of",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shares",
                        to="judging.key",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="datasets.team",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(
                        models.F("of"), models.F("team"), name="a_key_is_shared_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name='JudgeShare',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('right', models.CharField(choices=[('read', 'Read'), ('manage', 'Manage')], default='read', max_length=6)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.RemoveConstraint(
            model_name='price',
            name='one_price_a_day',
        ),
        migrations.AddField(
            model_name='judge',
            name='made_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='judge',
            name='team',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='datasets.team'),
        ),
        migrations.AddField(
            model_name='price',
            name='made_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='price',
            name='team',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='datasets.team'),
        ),
        migrations.AddConstraint(
            model_name='price',
            constraint=models.UniqueConstraint(models.F('team'), models.F('model'), models.F('since'), name='one_price_a_day'),
        ),
        migrations.AddField(
            model_name='judgeshare',
            name='by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='judgeshare',
            name='of',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='judging.judge'),
        ),
        migrations.AddField(
            model_name='judgeshare',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='datasets.team'),
        ),
        migrations.AddConstraint(
            model_name='judgeshare',
            constraint=models.UniqueConstraint(models.F('of'), models.F('team'), name='a_judge_is_shared_once'),
        ),
    ]
