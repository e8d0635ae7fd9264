"""The audit trail as it is shown: to admins all of it, to researchers that of their campaigns.

In a campaign's trail nobody finds out whose pseudonym is whose. What somebody did as a rater is
told by the pseudonym, everything else by the name of the account, where that is a researcher's or
an admin's, and as "an annotator" where it is not; filters know people by these names only.
"""
