"""The report page: one HTML file that shows scores and, for each response, their evidence.

Also the gate (``q2 gate``), which checks the scores of a release.
"""
