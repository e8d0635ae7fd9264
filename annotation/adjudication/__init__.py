"""Adjudication: deciding the units on which raters disagree.

`disputes` finds them and puts them in order, `decisions` shows one and stores the decision. A
decision is a label of the Reference, and of no rater.
"""
