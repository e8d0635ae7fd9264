"""Batch preparation: steps that turn each query of a batch into a query of the next batch.

`base` defines a step and the helpers that steps share. Each folder in `steps` is one step, and
`annotation.registry` lists them. The author of a step is a judge or a person. Nothing here imports
Django.
"""
