"""The program `tandem`: nouns and verbs over the commands, and the report of a file.

`verbs` is the tree, and `main` finds a verb in it. Django starts only in `site`, for verbs that ask
the database. `--help`, completion of verbs and reports of files (`report`) work without it.
"""
