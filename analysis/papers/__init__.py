"""The papers' own tables, filled from a study: `tandem paper NAME --study STUDY`.

A paper is a module here that declares its tables, and a part of `index.PAPERS`. `base` defines a
table, `material` what it is filled from, `sources` which campaigns that is, and `filling` fills it.
None of these knows Django or a model: `stored` is the material of the database, and a release has
its own. `options` reads the options, `published` the figures that a paper prints, and `build` and
`rendering` create the output.
"""
