"""Gaps that files left in revisions are written to the audit trail, as imports do from now on."""

from django.db import migrations

CHUNK = 2000


def tell_of_gaps(apps, schema_editor):
    Response = apps.get_model("annotation", "Response")
    Event = apps.get_model("audit", "Event")
    columns = "assignment_id", "assignment__item__campaign_id", "revision", "door"
    rows = Response.objects.order_by("assignment_id", "revision").values_list(*columns)
    events, assignment, before = [], None, 0
    for pk, campaign, revision, door in rows.iterator(chunk_size=CHUNK):
        if pk != assignment:
            assignment, before = pk, 0
        if revision != before + 1 and door == "import":
            events.append(
                Event(
                    event="answer.numbered",
                    campaign=campaign,
                    object_kind="assignment",
                    object_id=str(pk),
                    facts={"revision": revision},
                )
            )
        before = revision
    Event.objects.bulk_create(events, batch_size=CHUNK)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0011_uses_of_passages"),
        ("audit", "0001_initial"),
    ]

    operations = [
        migrations.RunPython(tell_of_gaps, migrations.RunPython.noop),
    ]
