"""The rules, in modules by what they look at. Each yields findings from a campaign's facts."""
