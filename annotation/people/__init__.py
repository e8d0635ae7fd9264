"""Who takes part: accounts, members of campaigns, invitations, leases on items, exclusions."""
