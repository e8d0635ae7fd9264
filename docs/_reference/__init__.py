"""The reference pages, generated from the code whenever the site is built; none is committed.

`pages` names every page with the function that writes it. Descriptions that the code lacks are in
`meanings.toml`. An option, a key or a setting without a description fails the build.
"""
