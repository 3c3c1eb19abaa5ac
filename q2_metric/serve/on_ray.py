"""The HTTP API as an application of Ray Serve: ``serve run q2_metric.serve.on_ray:app``."""

import os
from contextlib import suppress
from typing import Any

from ray import serve

from q2_metric.errors import InputError, ModelError
from q2_metric.files import parse_json
from q2_metric.metrics import load_metrics
from q2_metric.metrics.registry import check_names
from q2_metric.serve import API_KEY
from q2_metric.serve.api import Api
from q2_metric.serve.page import Explainer


def app(settings: dict[str, Any]) -> serve.Application:
    """The application that Ray Serve builds. ``settings`` are ``metrics`` (names with commas;
    "groundedness"), ``preset``, ``replicas`` (1) and further keywords of
    :func:`~q2_metric.metrics.load_metrics`. InputError: there is no API key, or ``replicas`` is not
    a number."""
    given = {name: _value(value) for name, value in settings.items()}
    key = os.environ.get(API_KEY, "")
    if not key:
        raise InputError(f"Other machines can reach a Ray cluster. Set {API_KEY} to a key; "
                         "requests then need this key.")
    names, replicas = check_names(given.pop("metrics", "groundedness")), given.pop("replicas", 1)
    if not isinstance(replicas, int) or replicas < 1:
        raise InputError(f"replicas must be a number above 0, not {replicas!r}")
    deployment: serve.Deployment = serve.deployment(
        name="q2", num_replicas=replicas, max_ongoing_requests=64, max_queued_requests=256,
    )(serve.ingress()(_Replica))
    return deployment.bind(names, given, key)


class _Replica:
    """A process that has its own models and answers requests."""

    def __init__(self, names: list[str], keywords: dict[str, Any], key: str) -> None:
        explainer = Explainer(load_metrics(names, **keywords))
        self.api = Api(explainer.metrics, None, key)

    def __serve_build_asgi_app__(self) -> Any:
        return self.api.app()

    def check_health(self) -> None:
        """Ray Serve replaces a replica for which this raises an error."""
        if not self.api.queue.alive:
            raise ModelError("the task that scores has ended")


def _value(given: Any) -> Any:
    """``serve run`` passes all values as text; a file of Ray Serve has numbers, too."""
    with suppress(ValueError, TypeError):
        return parse_json(given)
    return given
