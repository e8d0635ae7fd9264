"""The pages of people: accounts and invitations for admins, a campaign's people for researchers."""
