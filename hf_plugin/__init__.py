"""The shells for Hugging Face libraries: the ``evaluate`` modules and the Trainer callback.

``modules`` and ``register`` serve ``evaluate.load("q2")``, ``trainer`` serves training loops;
``scoring`` is what they share and knows no framework.
"""

import q2_metric  # noqa: F401  # registers the modules; begun here, the two do not go in a circle
