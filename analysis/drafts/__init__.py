"""Drafts: from tags of disagreements to a change of the guideline or of a judge's prompt.

`tag_groups` sorts the tags by question, slice and section of the guideline, and keeps drafts, which
change nothing by themselves. `effect` compares a judge's labels before and after a draft, on the
development queries that a trial asked about. `views` has the pages.
"""
