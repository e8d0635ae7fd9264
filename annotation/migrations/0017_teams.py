"""Which team owns a campaign; judging.0009 says so for campaigns that exist."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0016_signed_links_of_prolific'),
        ("datasets", "0010_teams"),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='made_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='campaign',
            name='team',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='datasets.team'),
        ),
        migrations.CreateModel(
            name='CampaignShare',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('right', models.CharField(choices=[('read', 'Read'), ('manage', 'Manage')], default='read', max_length=6)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('of', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='annotation.campaign')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='datasets.team')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(models.F('of'), models.F('team'), name='a_campaign_is_shared_once')],
            },
        ),
    ]
