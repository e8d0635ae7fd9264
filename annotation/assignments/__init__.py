"""Assign items to people, and find what a person may see beside an item.

`queue` claims slots and gives out the next item. `context` has the judge's labels that a person
validates, and the person's own nuggets.
"""
