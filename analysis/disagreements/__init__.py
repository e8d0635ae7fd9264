"""Disagreements: the units on which people and judges differ, with readers' tags.

`votes` reads the labels of one variable by unit, `choose` says what a disagreement is, picks units
by a filter and sorts them, `actions` stores readers' tags and acts on a list, and `views` shows the
list, an opened unit, and the file.
"""
