"""Gold items, which have gold answers and are mixed in, and practice with feedback.

`scoring` compares first answers with gold answers, decides on admission, and orders the items of a
person. Files of gold answers are read by `annotation.imports.gold`.
"""
