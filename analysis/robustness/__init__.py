"""The robustness sheet of a judge: how its labels change under trials.

`sheet` computes it as JSON from the labels of the judge and its trials, and `document` presents it.
"""
