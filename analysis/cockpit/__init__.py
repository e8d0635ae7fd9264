"""The campaign's first page: what needs attention, and the few numbers that matter.

`tiles` turns the facts of `analysis.attention` into what each tile shows or misses, and `views`
shows them at once and follows the jobs that bring them up to date.
"""
