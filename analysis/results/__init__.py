"""The page Results of a campaign: the report and the measures in one, and its parts for htmx.

`address` divides the parameters of the page between the two, and `views` shows the page, or the
part of it that htmx asks for by its target.
"""
