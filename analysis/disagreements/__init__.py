"""Disagreements: the units on which people and judges differ, with what readers make of them.

`votes` reads the labels of one variable by unit, `choose` picks units by a filter and sorts them,
`tags` keeps what readers say of a unit, and `views` shows the list, a unit in place, and the file.
"""
