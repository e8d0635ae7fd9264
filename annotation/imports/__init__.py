"""Imports: readers of label files from other tools, and one importer that calls `submit`.

`importer` recognises a file and imports it. `labels` and `columns` read the labels format,
`responses` whole answers, and `label_studio`, `crux`, `clapnq` and `qrels` the files of other
tools.
`grouping` collects rows into answers, and `index` looks up the campaign's items and units.
`first_answers` writes many new answers at once. `gold` imports gold answers. Others import from
`importer` and `gold`.
"""
