"""The papers' measures of a campaign: from its labels and its batch to a report of systems."""
