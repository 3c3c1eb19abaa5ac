"""Caches of Hugging Face libraries in a folder of the run, set before anything imports them."""

import os
import tempfile

_CACHE = tempfile.mkdtemp(prefix="q2-tests-")
os.environ["HF_MODULES_CACHE"] = os.path.join(_CACHE, "modules")
os.environ["HF_METRICS_CACHE"] = os.path.join(_CACHE, "metrics")
os.environ["HF_EVALUATE_OFFLINE"] = "1"  # no waiting for a hub that is not there
os.environ["Q2_NO_CACHE"] = "1"  # fakes share names and signatures; --cache FILE still works
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
