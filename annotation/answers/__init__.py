"""Answers: from the input of a rater to stored labels. Every answer passes through here.

`payloads` turns a form, JSON or a judge's reply into a payload. `submission.submit` checks the
payload and locates its quotes with `evidence`. `storage` is the only writer of responses, labels
and spans. `types` defines the input and output of `submit`. `drafts` stores a person's unfinished
work. A save that comes over what its writer had not seen is a conflict (`types`). Other packages
import from `submission`, `payloads`, `evidence`, `drafts` and `types`.
"""
