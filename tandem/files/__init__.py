"""Files of rows: JSON Lines, CSV, workbooks and Parquet, read and refused with their line.

`rows` has the parts of a query and the place of an error. `tables` opens a file in any of these
forms, and `spreadsheet` writes CSV that no spreadsheet runs.
"""
