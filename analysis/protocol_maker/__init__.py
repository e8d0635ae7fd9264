"""The pages of teams' protocols: the list, one version, and the page where one is written.

`forms` is the form beside the file: it writes the file, reads one that it can express, and says
what a page asks, what a judge would get, and what a report would hold. `views` are the pages.
Nothing is stored before a protocol is added.
"""
