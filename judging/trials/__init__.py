"""Trials of a judge: asked again under perturbations, on a draft's text, or about one item.

`perturbed_judges` creates a judge for each perturbation (`judging.prompts.perturbations` changes
its input), and `drafts` one for a changed guideline or prompt; `runs` estimates, starts and stops
their runs, and `judging.trial_effects` compares their labels with the judge's own. `one_item` sends
one request and gives no label; `one_item_jobs` has a worker do it, within an account's limits.
"""
