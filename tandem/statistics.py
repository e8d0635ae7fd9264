"""The statistics as functions of arrays, under the names that papers use.

It exports everything in `analysis.statistics`, and `ppi_mean` for its `prediction_powered_mean`.
Labels are integers in arrays of units by raters, -1 for none.
"""

from analysis import statistics as _statistics
from analysis.statistics import *  # noqa: F403
from analysis.statistics import prediction_powered_mean as ppi_mean

__all__ = [*_statistics.__all__, "ppi_mean"]
