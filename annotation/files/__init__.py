"""Labels as files: the long format that all of analysis reads, and other tools' files beside it."""
