"""Disagreements: the units on which people and judges differ, with readers' tags.

`votes` reads the labels of one variable by unit, `counts` says what a disagreement is and how many
there are, `choose` picks units by a filter and sorts them, `tags` stores readers' tags, and `views`
shows the list, an opened unit, and the file.
"""
