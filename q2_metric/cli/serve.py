"""``q2 serve`` shows a page in the browser that judges one answer."""

from __future__ import annotations

from typing import Any

import click

from q2_metric.cli.commands import command, warn
from q2_metric.cli.options import MODEL_OPTIONS, SETTING_OPTIONS, load, metrics_option


@command("serve")
@click.option("--host", default="127.0.0.1", show_default=True,
              help="Interface to listen on. Only this machine can reach the default.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True,
              help="Port to listen on; 0 picks a free one.")
@metrics_option("groundedness")
@MODEL_OPTIONS
@SETTING_OPTIONS
def serve(host: str, port: int, metrics: list[str], **options: Any) -> None:
    """Judge an answer in the browser: paste it with its sources.

    The page shows the same explanation as q2 report. Nothing is written to disk. Ctrl-C stops the
    server.
    """
    from q2_metric.serve.explain import Explainer
    from q2_metric.serve.server import Server

    # A person waits for the answer, so int8 is used where it is faster.
    options["dtype"] = options["dtype"] or "auto"
    with Server(host, port) as server:
        server.explainer = Explainer(load(metrics, options))
        server.explainer.row("It opened in 1889.", "The tower opened in 1889.")  # opens the models
        if not server.is_local:
            warn(f"{host} can be reached from other machines, and there is no password")
        try:
            click.echo(f"q2: open {server.url} in a browser (Ctrl-C ends it)", err=True)
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo(err=True)
