"""Pages of studies: the list, one study's figures and chain, and a researcher's first page.

The chain itself is read by `analysis.study`, which commands and the API use as well.
"""
