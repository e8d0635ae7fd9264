"""Fixed shares of people, and the items that are allotted by them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0024_languages_of_accounts'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='has_shares',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name='Allotment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='allotments', to='annotation.item')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('item'), models.F('user'), name='an_item_is_allotted_once')],
            },
        ),
        migrations.CreateModel(
            name='PersonShare',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('share', models.FloatField()),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='person_shares', to='annotation.campaign')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('campaign', 'id'),
                'constraints': [models.UniqueConstraint(models.F('campaign'), models.F('user'), name='one_share_a_person'), models.CheckConstraint(condition=models.Q(('share__gt', 0), ('share__lte', 1)), name='a_share_of_one')],
            },
        ),
    ]
