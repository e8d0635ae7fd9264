"""The list of campaigns, and a campaign's first page: what needs attention, and few numbers.

`campaign_list` is the list and its page. `tiles` turns the facts of `analysis.attention` into each
tile's content. `views` shows them at once and follows the jobs that update them.
"""
