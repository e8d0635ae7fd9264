"""Trials of a judge under perturbations, and their effects on its labels."""
