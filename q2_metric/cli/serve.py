"""``q2 serve`` starts a local web server with a page that scores one answer at a time."""

from __future__ import annotations

from typing import Any

import click

from q2_metric.cli.commands import command, warn
from q2_metric.cli.options import load, metrics_option, model_options


@command("serve")
@click.option("--host", default="127.0.0.1", show_default=True,
              help="Network interface to listen on. With the default, only this machine can reach "
              "the page.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True,
              help="Port to listen on; 0 chooses a free port.")
@metrics_option("groundedness")
@model_options(dtype="auto")
def serve(host: str, port: int, metrics: list[str], **options: Any) -> None:
    """Score an answer in the browser: paste the answer and its sources into a page.

    The page shows the same explanation as q2 report. Nothing is written to disk. Ctrl-C stops the
    server.
    """
    from q2_metric.serve.explain import Explainer
    from q2_metric.serve.server import Server

    # A person waits for the answer, so int8 is used where it is faster.
    options["dtype"] = options["dtype"] or "auto"
    with Server(host, port) as server:
        server.explainer = Explainer(load(metrics, options))
        server.explainer.row("It opened in 1889.", "The tower opened in 1889.")  # loads the models
        if not server.is_local:
            warn(f"{host} can be reached from other machines, and there is no password")
        try:
            click.echo(f"q2: open {server.url} in a browser (Ctrl-C stops the server)", err=True)
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo(err=True)
