"""Makes the page docs/results/speed.md from the results of the speed benchmarks.

    python -m tools.benchmarks speed_page

The text around the tables is taken from docs/results/speed/*.md. If a benchmark has not been run,
the page says so in place of its table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from q2_metric.evaluation.tables import table_lines
from tools.benchmarks.harness import RESULTS

Record = dict[str, Any]


def table(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    return "\n".join(table_lines(head, [[str(cell) for cell in row] for row in rows]))


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def ratio(found: Record) -> str:
    """The ratio of two speeds with its range over the turns, such as "3.1 × (2.9–3.4)"."""
    return f"{found['ratio']} × ({found['ratio_least']}–{found['ratio_greatest']})"


def provenance(record: Record) -> str:
    """A sentence that says by which command, when and on which machine a record was measured."""
    machine = record["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"`{record['command']}` on {machine['date']}: {machine['processor']} "
        f"({', '.join(machine['instructions']) or 'no wide instructions'}), "
        f"{machine['processors']} processors, load average {machine['load']} at the end; "
        f"Python {machine['python']}, {versions}.")


RATIOS = {
    "bundled": ("Q² and SCALE of WoW responses", "a loop", "against_the_loop"),
    "bundled-int8": ("the same in 8 bits", "float32", "against_float32"),
    "bundled-small": ("the same, `bundled-small`", "a loop", "against_the_loop"),
    "bundled-small-int8": ("the same, `bundled-small` in 8 bits", "float32", "against_float32"),
    "q2": ("Q², random models of published sizes", "a loop", "against_the_loop"),
    "scale": ("SCALE, random model of the size of Flan-T5-small", "scale-score",
              "against_scale_score"),
    "long-knowledge": ("SCALE by the nearest chunks, `bundled`, long knowledge",
                       "SCALE by all chunks", "scores"),
}
"""For each benchmark: what it times, with what it compares this, and the key of the ratio."""


def summary(records: dict[str, Record]) -> str:
    """The table with a line for each benchmark, by name of its record.

    A dash means that a record does not contain the value.
    """
    rows = []
    for name, (case, against, key) in RATIOS.items():
        record = records.get(name)
        if record is None:
            continue
        found = record[key]
        per_second = record.get("responses_per_second", found["fast_per_second"])
        share, rate = (record.get(f"{key}") for key in ("share_of_matmul_rate",
                                                        "matmul_gflops_per_second"))
        rows.append((
            case, per_second, f"{ratio(found)} as fast as {against}",
            "–" if share is None else f"{percent(share)} of {rate} GFLOP/s in "
                                      f"{record.get('number_format', 'float32')}",
            record.get("tokens", "–"), record.get("peak_memory_mb", "–"),
            record["machine"]["date"], "AMX" if "amx_bf16" in record["machine"]["instructions"]
            else record["machine"]["instructions"][-1].upper()))
    return table(("case", "responses per second", "relative speed",
                  "share of the CPU's matrix throughput", "tokens per response",
                  "peak memory, MB", "date", "processor"), rows)


def bundled(record: Record) -> str:
    cold = f"{record['cold_score_of_twenty_seconds']} s ({record['cold_cpu_seconds']} s of CPU)"
    rows = [
        ("responses per second", record["responses_per_second"]),
        ("speed relative to the loop", ratio(record["against_the_loop"])),
        *([("speed relative to float32", ratio(record["against_float32"]))]
          if "against_float32" in record else []),
        ("tokens per response", record["tokens"]),
        ("share of the CPU's matrix throughput",
         f"{percent(record['share_of_matmul_rate'])} of {record['matmul_gflops_per_second']} "
         f"GFLOP/s in {record['number_format']}"),
        ("time outside forward passes", percent(record["share_outside_forward_passes"])),
        ("peak memory", f"{record['peak_memory_mb']} MB"),
        ("`import q2_metric`", f"{record['import_seconds']} s"),
        ("`q2 score` on twenty rows, in a new process", cold),
    ]
    stages = [(name, stage["calls"], stage["rows"], stage["tokens"], percent(stage["padding"]))
              for name, stage in record["stages"].items()]
    parse = ", ".join(f"{name} {percent(share)}"
                      for name, share in record["share_of_stages"].items())
    return "\n\n".join([
        table(("", "measured"), rows),
        table(("stage", "model calls", "rows", "tokens", "padding"), stages),
        f"Share of the whole time outside the networks: {parse}."])


def cpu(record: Record) -> str:
    rows = [
        (name, ratio(pick), f"{pick['mean_difference']:.1g} / {pick['largest_difference']:.1g}",
         pick["correlation"], f"{100 * pick['auc']:.1f}")
        for name, pick in record["choices"].items()]
    parts = [
        table(("choice", "speed relative to the default", "difference of scores, mean / largest",
               "correlation of scores", "AUC"), rows),
        f"Measured on {record['pairs']} pairs. The default is {record['default_tokens']} tokens "
        f"per batch, sorted by length, float32 and {record['threads']} threads. Its AUC is "
        f"{100 * record['default_auc']:.1f}."]
    if alone := record.get("products"):
        parts.append(
            f"The matrix products of one layer over {record['default_tokens']} tokens are "
            f"{ratio(alone)} as fast in 8 bits as in float32. Share of the CPU's matrix "
            "throughput: "
            + ", ".join(f"{run['number_format']} {percent(run['share_of_matmul_rate'])} of "
                        f"{run['matmul_gflops_per_second']} GFLOP/s"
                        for run in (record, record["int8"]) if run) + ".")
    if sets := record.get("agreement"):
        parts.append(table(
            ("development set", "rows", "number format", "AUC", "correlation of scores",
             "difference of scores, mean / largest"),
            [(name, by_dtype["rows"], dtype, figures["auc"], figures["correlation"],
              f"{figures['mean_difference']:.1g} / {figures['largest_difference']:.1g}")
             for name, by_dtype in sets.items()
             for dtype, figures in by_dtype.items() if dtype != "rows"]))
    return "\n\n".join(parts)


def q2(record: Record) -> str:
    outside = record["share_outside"]
    rows = [
        ("responses per second", record["against_the_loop"]["fast_per_second"]),
        ("speed relative to one call at a time", ratio(record["against_the_loop"])),
        ("time outside forward passes (with beam search)",
         percent(outside["forward_passes"])),
        ("time outside forward passes and beam search", percent(outside["models_and_beam_search"])),
        ("operations needed", f"{record['gflops']} GFLOP in {record['seconds']} s"),
        ("share of the CPU's matrix throughput", f"{percent(record['share_of_matmul_rate'])} of "
         f"{record['matmul_gflops_per_second']} GFLOP/s"),
        ("peak memory", f"{record['peak_memory_mb']} MB"),
    ]
    stages = [(name, stage["calls"], stage["rows"], percent(stage["padding"]))
              for name, stage in record["stages"].items()]
    cost = record["cost"]
    return "\n\n".join([
        table(("", "measured"), rows),
        table(("stage", "model calls", "rows", "padding"), stages),
        table(("responses", "spans", "seconds", "seconds per response"),
              [(case["responses"], case["spans"], case["seconds"], case["per_response"])
               for case in cost["responses"]]),
        table(("words of knowledge", "seconds per response"),
              [(case["words"], case["per_response"]) for case in cost["knowledge"]])])


def scale(record: Record) -> str:
    found, long = record["against_scale_score"], record["documents"]
    rows = [
        ("WoW responses", record["responses"], found["slow_per_second"],
         found["fast_per_second"], ratio(found), f"{found['largest_difference']:.1g}"),
        (f"documents of {long['words']} words", long["count"],
         *(long["against_scale_score"][key] for key in ("slow_per_second", "fast_per_second")),
         ratio(long["against_scale_score"]),
         f"{long['against_scale_score']['largest_difference']:.1g}"),
    ]
    if pruned := long.get("three_chunks_against_scale_score"):
        rows.append(("the same, three chunks of 200 tokens", long["count"],
                     pruned["slow_per_second"], pruned["fast_per_second"], ratio(pruned), ""))
    if "bfloat16" in record:
        rough = record["bfloat16"]
        rows.append(("WoW responses, ours in bfloat16", record["responses"],
                     rough["slow_per_second"], rough["fast_per_second"], ratio(rough),
                     f"{rough['largest_difference']:.1g}"))
    return "\n\n".join([
        table(("texts", "number", "scale-score, texts per second", "ours, texts per second",
               "relative speed", "largest difference of scores"), rows),
        f"Our code made {record['calls']} model calls for {record['rows']} rows, with "
        f"{percent(record['padding'])} padding. It spent "
        f"{percent(record['share_outside_forward_passes'])} of the time outside forward passes. It "
        f"needed {record['gflops']} GFLOP in {record['seconds']} s, which is "
        f"{percent(record['share_of_matmul_rate'])} of the CPU's matrix throughput "
        f"({record['matmul_gflops_per_second']} GFLOP/s). The peak memory was "
        f"{record['peak_memory_mb']} MB.",
        table(("words of knowledge", "seconds per response"),
              [(case["words"], case["per_response"]) for case in record["cost_by_words"]])])


def long_knowledge(record: Record) -> str:
    rows = [(name, found["slow_per_second"], found["fast_per_second"], ratio(found))
            for name, found in (("scores", record["scores"]),
                                ("scores and supporting sentences", record["with_support"]))]
    people = [(name, row["rows"], row["words"], row["auc_all"], row["auc_nearest"],
               percent(row["same_best_chunk"])) for name, row in record["agreement"].items()]
    return "\n\n".join([
        table((f"{record['words']} words of knowledge", "all chunks: responses per second",
               "nearest chunks: responses per second", "relative speed"), rows),
        table(("set", "rows", "words of knowledge", "AUC, all chunks", "AUC, nearest chunks",
               "sentences with the same highest support"), people)])


def typical(record: Record) -> str:
    def seconds(found: Record, **wanted: object) -> object:
        return next(one["seconds_a_row"] for one in found["groundedness"]
                    if wanted.items() <= one.items())

    own, limits, beside = [], [], []
    for kind, found in record["kinds"].items():
        for dtype in ("int8", "float32"):
            of = [one for one in found["groundedness"] if one["dtype"] == dtype]
            own.append((
                kind, dtype, found["words"], found["response_words"],
                *(seconds(found, dtype=dtype, rows=rows, threads=threads, evidence=evidence)
                  for rows, threads, evidence in (
                      (1, 1, True), (1, 2, True), (found["rows"], 1, True),
                      (found["rows"], 2, True), (found["rows"], 2, False))),
                max(one["cold_start"] for one in of), max(one["memory_mb"] for one in of)))
        limits.append((kind, f"{percent(found['limit']['share_of_matmul_rate'])} of "
                       f"{found['limit']['matmul_gflops_per_second']} GFLOP/s"))
        beside += [(kind, peer, one["slow_per_second"], one["fast_per_second"], ratio(one))
                   for peer, one in found["peers"].items()]
    return "\n\n".join([
        table(("rows", "format", "words of knowledge", "of the response", "one row, 1 thread",
               "one row, 2 threads", "all rows, 1 thread", "all rows, 2 threads",
               "without evidence", "cold start", "MB"), own),
        table(("rows", "share of the CPU's matrix throughput in int8"), limits),
        table(("rows", "other program", "its rows per second", "ours", "relative speed"), beside)])


PARTS: dict[str, Callable[[Record], str]] = {
    "bundled": bundled, "bundled-int8": bundled, "bundled-small": bundled,
    "bundled-small-int8": bundled, "typical": typical, "cpu": cpu, "q2": q2, "scale": scale,
    "long-knowledge": long_knowledge}


def load(name: str) -> Record | None:
    """The record of a benchmark's last run; ``None`` if it has not been run."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def page() -> str:
    records = {name: found for name in PARTS if (found := load(name)) is not None}
    parts = [(RESULTS / "intro.md").read_text("utf-8").strip().replace(
        "{figures}", summary(records))]
    for name, render in PARTS.items():
        figures = "Not run yet."
        if record := records.get(name):
            signatures = record.get("signatures") or [record.get("signature")]
            lines = "\n".join(f"- `{line}`" for line in signatures if line)
            figures = "\n\n".join(filter(None, [render(record), provenance(record), lines]))
        text = (RESULTS / f"{name}.md").read_text("utf-8").strip()
        parts.append(text.replace("{figures}", figures))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    target = RESULTS.parent / "speed.md"
    target.write_text(page(), encoding="utf-8")
    print(target)
