"""The papers' own tables, filled from a study: `tandem paper NAME --study STUDY`.

A paper is a module here that declares its tables, and a part of `index.PAPERS`. `material` collects
a study's data for them, `base` defines a table, `options` reads its options, and `published` the
figures that a paper prints. `build` and `rendering` create the output; a release is checked with
`rendering` alone, which needs no framework.
"""
