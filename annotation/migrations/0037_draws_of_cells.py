"""A plan may draw a query again, each time with some of its units.

SQLite builds the table again, and drops its triggers with it: they are taken off before, and put on
after, in either direction.
"""

from functools import partial

from django.db import migrations, models

from audit.append_only import migrate, migrate_back

DRAWS = ("annotation_trustdraw",)
PUT_ON, TAKE_OFF = partial(migrate, tables=DRAWS), partial(migrate_back, tables=DRAWS)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0036_trust_plans'),
        ('datasets', '0016_nuggets_and_sentence_citations'),
    ]

    operations = [
        migrations.RunPython(TAKE_OFF, PUT_ON),
        migrations.RemoveConstraint(
            model_name='trustdraw',
            name='a_plan_draws_a_query_once',
        ),
        migrations.AddField(
            model_name='trustdraw',
            name='turn',
            field=models.PositiveIntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name='trustdraw',
            name='units',
            field=models.JSONField(null=True),
        ),
        migrations.AddConstraint(
            model_name='trustdraw',
            constraint=models.UniqueConstraint(models.F('plan'), models.F('query'), models.F('turn'), name='a_query_has_one_draw_a_turn'),
        ),
        migrations.RunPython(PUT_ON, TAKE_OFF),
    ]
