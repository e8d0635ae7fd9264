"""Labels files, read by columns or line by line, to frames and reports. It needs no database."""
