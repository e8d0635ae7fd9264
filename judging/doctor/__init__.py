"""The doctor: examines the installation; each check says that all is well, or what mends it.

`base` is the declaration of a check and needs no Django, `machine`, `processes` and `records` have
the checks, `registry` lists them once for the command, its JSON and the admin's page, and `stored`
keeps the last examination for the page, which never waits for a slow check.
"""
