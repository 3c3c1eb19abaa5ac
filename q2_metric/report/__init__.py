"""The report page: one HTML file with scores and their evidence. Also the gate (``q2 gate``)."""

MARK = '<meta name="generator" content="q2-metric">'
"""What only our report pages contain."""
