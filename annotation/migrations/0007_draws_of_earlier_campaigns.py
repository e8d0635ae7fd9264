"""Campaigns made before draws were stored get that of their queries, by the rule of then.

Which units a protocol's draw left out is not known here; `draws --check` says so of such a
campaign.
"""

import hashlib

from django.db import migrations

PURPOSE = "queries for people"


def store_draws(apps, schema_editor):
    Campaign = apps.get_model("annotation", "Campaign")
    QueryDraw = apps.get_model("annotation", "QueryDraw")
    Query = apps.get_model("datasets", "Query")
    for campaign in Campaign.objects.all():
        queries = dict(Query.objects.filter(batch=campaign.batch_id).values_list("key", "pk"))
        count = min(len(queries), max(1, round(campaign.human_share * len(queries))))
        asked = set(sorted(queries, key=lambda key: _rank(campaign.seed, key))[:count])
        QueryDraw.objects.bulk_create(
            [
                QueryDraw(
                    campaign=campaign,
                    query_id=pk,
                    kind="all" if count == len(queries) else "simple",
                    seed=campaign.seed,
                    probability=count / len(queries),
                    drawn=key in asked,
                )
                for key, pk in queries.items()
            ],
            batch_size=1000,
        )


def _rank(seed, key):
    return hashlib.sha256(f"{seed}\0{PURPOSE}\0{key}".encode()).digest()


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0006_studies_draws_known_answers_guidelines"),
    ]

    operations = [
        migrations.RunPython(store_draws, migrations.RunPython.noop),
    ]
