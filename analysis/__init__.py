"""From labels to reports: statistics, the papers' measures, figures, formats. Never writes labels.

The lower half needs neither Django nor another app: `statistics` and `measures` compute, `data`
holds labels as frames, `report` creates the agreement report, and `figures` and `formats` present
it. Above it, `campaigns`, `labels_file` and `evaluation` read labels from the database and from
files, `robustness`, `monitoring` and `frozen` use the reports, and `views`, `api` and `management`
serve them.
"""
