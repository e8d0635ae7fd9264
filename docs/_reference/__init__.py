"""The reference pages, generated from the code whenever the site is built; none is committed.

`pages` names every page with the function that writes it. What the code has no words for stands in
`meanings.toml`; a command's option, a key or a setting without words fails the build.
"""
