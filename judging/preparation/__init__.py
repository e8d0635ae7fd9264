"""Preparation of a batch: judges write, people review, and a new batch is built.

`status` creates a step's campaign and shows how far it is. `review` has the authored answers, their
problems and their reviews. `review_form` turns an answer into form fields and back. `build` creates
the new batch from accepted answers.
"""
