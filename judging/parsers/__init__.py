"""Parsers: how a label is read from what a model wrote, with one module for each way.

`base` defines what a parser is, and what it returns: a `Reading`. `ladder` finds the answer among
reasoning, fences and prose, before any parser looks at it.
"""
