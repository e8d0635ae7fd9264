"""The rules, grouped in modules by their subject. Each yields findings from a campaign's facts."""
