"""The campaign's first page: what needs attention, and the few numbers that matter.

`tiles` turns the facts of `analysis.attention` into each tile's content. `views` shows them at once
and follows the jobs that update them.
"""
