"""The statistics of the experiments, on plain arrays (numpy, scipy, scikit-learn).

``truth`` is true if people found a response consistent. Higher ``scores`` mean more consistent. All
random draws use :data:`SEED`. All functions raise InputError if the statistic is not defined for
the data, such as the AUC of a single class.
"""

from q2_metric.evaluation.statistics.auc import (
    AucDifference,
    auc_difference,
    auc_interval,
    aucs,
    average_precision,
    roc_auc,
)
from q2_metric.evaluation.statistics.correlation import Correlation, pearson, spearman
from q2_metric.evaluation.statistics.decisions import (
    THRESHOLD,
    Curve,
    Decisions,
    detection,
    precision_recall,
    roc_curve,
)
from q2_metric.evaluation.statistics.intervals import Interval, share_interval
from q2_metric.evaluation.statistics.reliability import N_BINS, Bin, ece, min_max, reliability
from q2_metric.evaluation.statistics.systems import (
    ROBUSTNESS,
    SYSTEMS,
    Simulation,
    robustness,
    system_correlation,
)
from q2_metric.evaluation.statistics.values import Bools, Floats, checked
from q2_metric.metrics.bootstrap import N_BOOTSTRAP, SEED

__all__ = [
    "N_BINS",
    "N_BOOTSTRAP",
    "ROBUSTNESS",
    "SEED",
    "SYSTEMS",
    "THRESHOLD",
    "AucDifference",
    "Bin",
    "Bools",
    "Correlation",
    "Curve",
    "Decisions",
    "Floats",
    "Interval",
    "Simulation",
    "auc_difference",
    "auc_interval",
    "aucs",
    "average_precision",
    "checked",
    "detection",
    "ece",
    "min_max",
    "pearson",
    "precision_recall",
    "reliability",
    "robustness",
    "roc_auc",
    "roc_curve",
    "share_interval",
    "spearman",
    "system_correlation",
]
