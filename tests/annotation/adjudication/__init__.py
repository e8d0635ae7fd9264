"""Deciding what raters disagree on."""
