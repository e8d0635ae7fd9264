"""Importing labels made elsewhere: readers of file formats, and one importer that calls `submit`.

`importer` recognises a file and imports it. `labels` and `columns` read the labels format,
`label_studio`, `crux` and `clapnq` other tools' files. `grouping` gathers rows into answers,
`index` knows the campaign's items and units, `gold` takes gold answers.
"""
