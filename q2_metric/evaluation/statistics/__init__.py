"""The statistics of the experiments, on plain arrays.

``truth`` is true for each response that people found consistent, and a higher score means more
consistent. Random numbers are drawn with the seed :data:`SEED`. A function raises InputError if its
statistic is not defined for the data, such as the AUC if all labels are equal.
"""

from q2_metric.evaluation.statistics.auc import auc_difference as auc_difference
from q2_metric.evaluation.statistics.auc import auc_interval as auc_interval
from q2_metric.evaluation.statistics.auc import average_precision as average_precision
from q2_metric.evaluation.statistics.auc import roc_auc as roc_auc
from q2_metric.evaluation.statistics.correlation import kendall as kendall
from q2_metric.evaluation.statistics.correlation import pearson as pearson
from q2_metric.evaluation.statistics.correlation import spearman as spearman
from q2_metric.evaluation.statistics.decisions import THRESHOLD as THRESHOLD
from q2_metric.evaluation.statistics.decisions import Curve as Curve
from q2_metric.evaluation.statistics.decisions import detection as detection
from q2_metric.evaluation.statistics.decisions import precision_recall as precision_recall
from q2_metric.evaluation.statistics.decisions import roc_curve as roc_curve
from q2_metric.evaluation.statistics.intervals import Interval as Interval
from q2_metric.evaluation.statistics.intervals import share_interval as share_interval
from q2_metric.evaluation.statistics.reliability import N_BINS as N_BINS
from q2_metric.evaluation.statistics.reliability import ece as ece
from q2_metric.evaluation.statistics.reliability import min_max as min_max
from q2_metric.evaluation.statistics.reliability import reliability as reliability
from q2_metric.evaluation.statistics.systems import ROBUSTNESS as ROBUSTNESS
from q2_metric.evaluation.statistics.systems import robustness as robustness
from q2_metric.evaluation.statistics.systems import system_correlation as system_correlation
from q2_metric.evaluation.statistics.values import Bools as Bools
from q2_metric.evaluation.statistics.values import Floats as Floats
from q2_metric.evaluation.statistics.values import checked as checked
from q2_metric.metrics.bootstrap import N_BOOTSTRAP as N_BOOTSTRAP
from q2_metric.metrics.bootstrap import SEED as SEED
