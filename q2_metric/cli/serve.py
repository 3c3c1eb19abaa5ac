"""``q2 serve`` starts a local web server: a page that scores one answer at a time, or an API."""

import os
from contextlib import closing
from typing import Any

import click

from q2_metric.cli.commands import command, warn
from q2_metric.cli.options import MODEL_OPTIONS, load, metrics_option
from q2_metric.errors import optional
from q2_metric.serve import API_KEY


@command("serve")
@click.option("--api", is_flag=True,
              help=f"Serve an HTTP API for programs instead of the page. If {API_KEY} is set, "
              "requests need this key.")
@click.option("--host", default="127.0.0.1",
              help="Network interface to listen on. With the default, only this machine can reach "
              "the server.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765,
              help="Port to listen on; 0 chooses a free port.")
@metrics_option("groundedness")
@MODEL_OPTIONS
def serve(api: bool, host: str, port: int, metrics: list[str], **options: Any) -> None:
    """Score answers over HTTP: in the browser, or with --api from programs.

    The page asks for an answer and its sources, and shows the same explanation as q2 report.
    Nothing is written to disk. Ctrl-C stops the server.
    """
    for package in ("starlette", "uvicorn"):
        optional(package, "q2 serve", package, "serve")
    from q2_metric.serve.page import Explainer, page
    from q2_metric.serve.server import Server

    with closing(Server(host, port)) as server:
        explainer = Explainer(load(metrics, options))
        key = os.environ.get(API_KEY, "") if api else ""
        if not server.is_local and not key:
            warn(f"{host} can be reached from other machines, and there is no password"
                 + (f"; set {API_KEY} to ask for a key" if api else ""))
        if api:
            from q2_metric.serve.api import Api

            app = Api(explainer.metrics, server, key).app()
            words = (f"the API is at {server.url}v1/score, its description at "
                     f"{server.url}openapi.json")
        else:
            app, words = page(explainer, server), f"open {server.url} in a browser"
        try:
            server.run(app, lambda: warn(f"{words} (Ctrl-C stops the server)"))
        except KeyboardInterrupt:
            click.echo(err=True)
