"""What campaigns pay, and whether people see only the part of the guideline that is asked."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0022_views_of_texts'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='pay',
            field=models.CharField(blank=True, db_default='', default='', max_length=60),
        ),
        migrations.AddField(
            model_name='campaign',
            name='trims_guideline',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
