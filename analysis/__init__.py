"""From labels to reports: statistics, the papers' measures, figures, formats. Writes no label."""
