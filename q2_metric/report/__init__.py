"""The report page: one HTML file with scores and their evidence. Also the gate (``q2 gate``)."""
