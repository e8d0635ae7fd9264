"""Robustness: trials of a judge under perturbations, and their effects on its labels.

`trials` creates a judge for each perturbation (`judging.prompts.perturbations` changes its input).
`effects` compares a trial's labels with those of its judge, and summarises label mass. `drafts`
creates trials of a changed guideline or prompt.
"""
