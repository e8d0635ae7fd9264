"""The statistics as functions of arrays, under the names that papers use.

Everything that `analysis.statistics` exports, and `ppi_mean` for its `prediction_powered_mean`.
Labels are whole numbers in arrays of units by raters, -1 where there is none.
"""

from analysis import statistics as _statistics
from analysis.statistics import *  # noqa: F403
from analysis.statistics import prediction_powered_mean as ppi_mean

__all__ = [*_statistics.__all__, "ppi_mean"]
