"""People: accounts, members of campaigns, invitations, leases, exclusions, guests from Prolific.

`accounts` changes and erases accounts. `membership` decides who may take and read the items of a
campaign, and excludes raters. `invitations` brings in people by links, and `prolific` brings in
guests. `leases` reserves items for people and releases them. Views and commands call these modules
directly.
"""
