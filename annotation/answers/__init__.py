"""From what a rater sends to stored labels: the only way in which an answer enters the database.

`payloads` turns a form, JSON or a judge's reply into a payload; `submission.submit` checks it and
finds its evidence (`evidence`); `storage` alone writes Response, Label and Span. `drafts` keeps a
person's unfinished work.
"""
