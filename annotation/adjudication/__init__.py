"""Deciding what raters disagree on. A decision is a label of the Reference, and no rater's."""
