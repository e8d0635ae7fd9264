"""Queries that a plan draws: who is asked about them, in which order, and who may read the labels.

The plans themselves are made by `analysis.trust`.
"""
