"""The page Results of a campaign: the report and the measures in one, and its parts for htmx.

`address` divides the page's parameters between the two. `views` renders the page, or the part that
htmx requests by its target.
"""
