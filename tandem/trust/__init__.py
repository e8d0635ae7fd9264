"""What a judge may decide, proven by query: plans, draws, evidence and its bounds, without Django.

A plan cuts a judge's cells by how sure it is. People label queries in a committed random order, and
evidence grows against the hypothesis that a cut has too many wrong cells. A cut is certified when
the evidence reaches 1/δ, whatever the correlation within queries and however often somebody looks.
"""
