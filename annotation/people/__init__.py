"""Who may take part where: accounts, members, invitations, places held for a time, exclusions."""
