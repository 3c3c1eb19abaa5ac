"""One response: ``q2 explain`` shows it on the terminal, and ``q2 serve`` in the browser."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from q2_metric.cli.commands import command, print_json, warn
from q2_metric.cli.options import MODEL_OPTIONS, SIGNATURE_OPTION, load, metrics_option
from q2_metric.cli.render import VERDICTS, console, print_signatures, safe_text
from q2_metric.errors import InputError, optional
from q2_metric.metrics.registry import METRICS, entry
from q2_metric.report.findings import DROPPED, NO_SUPPORT, SIGNS, WHOLE, shipped, supported, view
from q2_metric.rows.fields import Layout, output_row
from q2_metric.rows.plain import REASONS, number
from q2_metric.scoring import given, score_rows
from q2_metric.serve import API_KEY
from q2_metric.text.given import is_blank


@command("explain")
@click.option("--response", required=True, help="The response.")
@click.option("--knowledge", required=True, help="The text that should support the response.")
@click.option("--question", help="The question that the response answers.")
@click.option("--history", multiple=True,
              help="An earlier turn of the dialogue; may be repeated, oldest turn first.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead.")
@metrics_option()
@MODEL_OPTIONS
@SIGNATURE_OPTION
def explain(metrics: list[str], as_json: bool, **options: Any) -> None:
    """Score one response, and show what the score is computed from.

    These are questions, answers and claims. With -m scale, it shows for each claim the sentence of
    the knowledge that supports it best, or the nearest sentence.
    """
    example = given(options["response"], options["knowledge"], options["history"], "this command",
                    None if is_blank(options["question"] or "") else options["question"])
    for field in ("response", "knowledge"):
        if is_blank(options[field]):
            raise InputError(f"the {field} is empty")
    loaded = load(metrics, options)
    (scores,) = score_rows(loaded, [example], evidence=True)
    signatures = {metric.name: metric.signature for metric in loaded}
    row = output_row(0, example, scores, Layout(metrics, texts=not as_json))
    measured = shipped().covers(signatures.values())
    if as_json:
        print_json({**row, "plain": view(row)["plain"], "signatures": signatures})
        return
    shown, screen = view(row, measured), console()
    _print_rows(screen, _texts(shown))
    for name in metrics:
        screen.print("\n", _headline(name, shown), sep="")
        details, listed = entry(name).details, entry(name).listed
        if listed and shown[name] is not None:
            _print_rows(screen, _DETAILS[details](shown, measured) if details in _DETAILS else (
                (safe_text(item["plain"]),) for item in shown[listed]))
    screen.print()
    if measured:
        screen.print("[n%]: of all responses with a finding like this, people judged n% supported",
                     style="dim")
    print_signatures(screen, signatures.values(), whole=options["signature"])


def _print_rows(screen: Console, rows: Iterable[Iterable[Text]]) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    for cells in rows:
        table.add_row(*cells)
    if table.rows:
        screen.print(table)


def _texts(shown: Mapping[str, Any]) -> Iterator[tuple[Text, Text]]:
    told = [("history", turn) for turn in shown["history"]]
    told += [(name, shown[name]) for name in ("question", "knowledge") if shown[name]]
    for title, text in told:
        yield Text(title, style="dim"), safe_text(text)
    yield Text("response", style="dim"), _marked(shown)
    yield Text("in words", style="dim"), safe_text("\n".join(shown["plain"]))


def _marked(row: Mapping[str, Any]) -> Text:
    """The response with each claim in its verdict's colour, or with Q²'s spans underlined."""
    response = row["response"]
    if row.get("claims"):
        return marked(response, row["claims"])
    text = safe_text(response)
    for item in row["questions"]:
        end = item["start"] + len(item["span"])
        # If pronouns were replaced by names, offsets refer to the replaced text, not to this one.
        if response[item["start"] : end] == item["span"]:
            text.stylize("underline", item["start"], end)
    return text


def marked(response: str, claims: Sequence[Mapping[str, Any]]) -> Text:
    """The response with each claim in the colour of its verdict, followed by the verdict's sign.
    ``claims`` are those of an output row. A claim inside another is shown in its own colour."""
    text = safe_text(response)
    # Sorted by (end, size): if two claims have the same end, the inner claim comes first.
    placed = sorted(claims, key=lambda claim: (claim["end"], claim["end"] - claim["start"]))
    for claim in sorted(placed, key=lambda claim: claim["start"] - claim["end"]):
        text.stylize(VERDICTS[claim["verdict"]][1], claim["start"], claim["end"])
    signed = Text()
    pieces = text.divide([claim["end"] for claim in placed])
    for piece, claim in zip(pieces, placed, strict=False):
        signed.append_text(piece).append(*VERDICTS[claim["verdict"]])
    return signed.append_text(pieces[-1])


def _headline(name: str, row: Mapping[str, Any]) -> Text:
    own, *more = entry(name).columns
    line = Text(f"{own.title}  {number(row[own.name])}", style="bold")
    if row.get(own.name) is None and row.get("reason") in REASONS:
        return line.append(f"  {REASONS[row['reason']]}", style="not bold")
    for column in more:
        if row.get(column.name) is not None:
            title = column.title.removeprefix(own.title).strip() or column.title
            line.append(f"  ({title} {number(row[column.name])})", style="not bold")
    if entry(name).details == "questions" and row["fallback"]:
        line.append("  nothing to ask about: judged as a whole", style="not bold")
    return line


def _sign(item: Mapping[str, Any]) -> Text:
    colours = {"supported": "green", "differs": "red", "open": "yellow"}
    return Text(SIGNS[item["state"]], style=colours[item["state"]])


def _share(item: Mapping[str, Any], details: str, measured: set[str]) -> str:
    known = shipped().findings.get(item["kind"]) if details in measured else None
    return f" [{known.share:.0%}]" if known else ""


def _questions(row: Mapping[str, Any], measured: set[str]) -> Iterator[Sequence[Text]]:
    for item in row["questions"]:
        how = _how(item) + _share(item, "questions", measured)
        yield _sign(item), safe_text(item["question"]), Text()
        yield Text(), safe_text(item["plain"]), safe_text(how, "dim")
    if row["fallback"]:
        how = f"entailment {number(row['whole'])}{_share(row, 'questions', measured)}"
        yield _sign(row), safe_text(WHOLE[row["state"]]), safe_text(how, "dim")
    for item in row.get("dropped") or ():
        yield Text("–"), safe_text(item["question"], "dim"), Text()
        yield Text(), safe_text(f"not asked: {DROPPED[item['reason']]}", "dim"), Text()
    if row.get("unasked"):
        words = ", ".join(dict.fromkeys(word for _, word in row["unasked"]))
        yield Text("–"), safe_text(f"not asked about: {words}", "dim"), Text()


def _how(item: Mapping[str, Any]) -> str:
    """As in "contradiction 0.89"."""
    if item["how"] in ("equal", "no_answer", "contradicted"):
        counted = f", counts {item['score']:.2f}" if 0 < item["score"] < 1 else ""
        return str(item["how"]).replace("_", " ") + counted
    p = "" if item["verdict_p"] is None else f" {item['verdict_p']:.2f}"
    judged = f"{item['verdict']}{p}" if item["verdict"] else ""
    words = f"word overlap {item['f1']:.2f}" if item["how"] == "token_f1" else ""
    return ", ".join(filter(None, (judged, words)))


def _sentences(row: Mapping[str, Any], measured: set[str]) -> Iterator[Sequence[Text]]:
    claims = row.get("claims") or ()
    only = all(claim["passage"] is None or claim["passage"].strip() == row["knowledge"].strip()
               for claim in claims)
    for item in claims:
        yield (Text(*VERDICTS[item["verdict"]]), safe_text(item["text"]),
               safe_text(f"{number(item['support'])}{_share(item, 'sentences', measured)}", "dim"))
        support = item["passage_support"]
        if support is not None and support >= NO_SUPPORT and not only:
            yield (Text(), safe_text(f"support: {item['passage']}"),
                   safe_text(number(support), "dim"))
        elif support is not None and support < NO_SUPPORT and item["against"] is None:
            words = "supported by several sentences together" if supported(item) else (
                "no support found")
            nearest = "" if only else f"; nearest ({number(support)}): {item['passage']}"
            yield Text(), safe_text(words + nearest, "dim"), Text()
        if item["against"] is not None:
            start, end = item["against"]
            yield Text(), safe_text(f"contradicted by: {row['knowledge'][start:end]}"), Text()


def _parts(row: Mapping[str, Any], measured: set[str]) -> Iterator[Sequence[Text]]:
    if not any(entry(name).details == "sentences" and name in row for name in METRICS):
        yield from _sentences(row, measured)
    for item in row["parts"]:
        yield (Text("▼" if item["contribution"] < 0 else "▲"), safe_text(item["title"]),
               safe_text(item["plain"], "dim"))


_DETAILS = {"questions": _questions, "sentences": _sentences, "parts": _parts}


@command("serve")
@click.option("--api", is_flag=True,
              help=f"Serve an HTTP API for programs instead of the page. If {API_KEY} is set, "
              "requests need this key.")
@click.option("--host", default="127.0.0.1",
              help="Network interface to listen on; by default, only this machine can reach it.")
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
