import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

BY_ROLE = {
    'annotator': ['read', 'label'],
    'researcher': ['read', 'label', 'manage', 'judge', 'people'],
    'admin': ['read', 'manage', 'judge', 'people'],
}


def grant_all(apps, schema_editor):
    """Tokens from before scopes keep what they could do."""
    tokens = apps.get_model('knox', 'AuthToken').objects.select_related('user')
    grants = apps.get_model('datasets', 'Grant').objects
    for token in tokens.iterator():
        grants.create(token=token, scopes=BY_ROLE.get(token.user.role, []))


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0002_uploads'),
        ('knox', '0009_extend_authtoken_field'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scopes', models.JSONField(default=list)),
                ('note', models.CharField(blank=True, max_length=100)),
                ('token', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='grant', to='knox.authtoken')),
            ],
        ),
        migrations.CreateModel(
            name='KeptAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=64)),
                ('asked', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField(default=0)),
                ('body', models.TextField(blank=True)),
                ('etag', models.CharField(blank=True, max_length=100)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='answers_by_age')],
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('key'), name='an_answer_once_a_key')],
            },
        ),
        migrations.RunPython(grant_all, migrations.RunPython.noop),
    ]
