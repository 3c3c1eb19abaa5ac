"""Scores responses and computes means. All commands and integrations use this package.

    :mod:`.texts`        turns the texts of a framework into examples
    :mod:`.scores`       decides which examples a metric scores, and scores them
    :mod:`.faults`       finds the rows on which a metric fails
    :mod:`.outcome`      determines how each response counts in the means
    :mod:`.aggregate`    computes the means and their signature
    :mod:`.run`          does all these steps for a complete list of rows
    :mod:`.judge`        scores and explains one response at a time, for the small integrations
    :mod:`.verdict`      counts responses and claims by their verdicts
    :mod:`.codec`        writes a score as JSON and reads it back
"""

from q2_metric.scoring.aggregate import Aggregate as Aggregate
from q2_metric.scoring.aggregate import Mean as Mean
from q2_metric.scoring.aggregate import signature_lines as signature_lines
from q2_metric.scoring.aggregate import signatures as signatures
from q2_metric.scoring.outcome import NO_CLAIM as NO_CLAIM
from q2_metric.scoring.outcome import SHARES as SHARES
from q2_metric.scoring.outcome import NoClaim as NoClaim
from q2_metric.scoring.outcome import check_no_claim as check_no_claim
from q2_metric.scoring.outcome import check_threshold as check_threshold
from q2_metric.scoring.outcome import row_numbers as row_numbers
from q2_metric.scoring.outcome import share_names as share_names
from q2_metric.scoring.run import LOWER_IS_BETTER as LOWER_IS_BETTER
from q2_metric.scoring.run import ScoredRows as ScoredRows
from q2_metric.scoring.run import against_gold as against_gold
from q2_metric.scoring.run import claims as claims
from q2_metric.scoring.run import hollow as hollow
from q2_metric.scoring.scores import load as load
from q2_metric.scoring.scores import score as score
from q2_metric.scoring.scores import score_rows as score_rows
from q2_metric.scoring.texts import check_column as check_column
from q2_metric.scoring.texts import check_columns as check_columns
from q2_metric.scoring.texts import check_response as check_response
from q2_metric.scoring.texts import check_text as check_text
from q2_metric.scoring.texts import check_texts as check_texts
from q2_metric.scoring.texts import example as example
from q2_metric.scoring.texts import field_of as field_of
from q2_metric.scoring.texts import given as given
from q2_metric.scoring.texts import given_columns as given_columns
from q2_metric.scoring.verdict import unsupported as unsupported
