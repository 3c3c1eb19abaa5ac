"""Scores the answers that a model generated.

The filter of a task scores all documents of a rank (a process of the run) at once. Then the harness
asks for the scores of one document at a time (``process_results``).
"""

import gc
import json
import logging
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict
from tempfile import NamedTemporaryFile
from typing import Any

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.integrations.lm_eval.options import Options
from q2_metric.integrations.lm_eval.ranks import on_every_rank
from q2_metric.integrations.lm_eval.tables import details
from q2_metric.memory import free_gpu_memory
from q2_metric.metrics.overlap import TokenF1
from q2_metric.models.stages import clear_cache
from q2_metric.rows.fields import output_row
from q2_metric.scoring import NoClaim
from q2_metric.scoring.outcome import CLAIMLESS
from q2_metric.text.given import is_blank
from q2_metric.text.normalise import token_f1
from q2_metric.types import Example, Metric, Score

_LOG = logging.getLogger(__name__)

Document = Mapping[str, Any]

Results = dict[str, Any]
"""By metric of the table, the value of one document: a number, or what is aggregated later."""

Signatures = Mapping[str, str]


_loadable: set[str] = set()


def check_loads(options: Options) -> None:
    """Checks that the metrics can be loaded, before the model generates its answers for hours.
    Raises ModelError or MissingExtra if the preset's models cannot be loaded."""
    if repr(options) not in _loadable:
        _load(options)
        _release()
        _loadable.add(repr(options))


def _load(options: Options) -> list[Metric]:
    return scoring.load(options.metrics, {"preset": options.preset, **options.keywords})


def score(
    examples: Sequence[Example], options: Options, *, evidence: bool = False
) -> tuple[Sequence[Mapping[str, Score]], Signatures]:
    """Loads the metrics, scores all examples in one batch, and releases the metrics. If no response
    can be scored, the answers are saved to a file that the log names, and both results are empty:
    the run may contain other tasks and hours of work."""
    def warn(place: int, words: str) -> None:
        name, _, problem = words.partition(": ")
        _LOG.warning("row %s: %s cannot score it: %s", examples[place].id, name, problem)

    try:
        loaded = _load(options)
        scores = scoring.score(loaded, examples, evidence=evidence, on_fault=warn)
        signatures = scoring.signatures(loaded, options.no_claim)
        del loaded
        _release()
        return scores, signatures
    except Exception as error:
        _LOG.error("the answers were not scored: %s: %s; they are saved in %s; score them with: "
                   "q2 score %s",
                   type(error).__name__, " ".join(str(error).split()), *[_kept(examples)] * 2)
        return [{} for _ in examples], {}


def _kept(examples: Sequence[Example]) -> str:
    with NamedTemporaryFile("w", prefix="q2-answers-", suffix=".jsonl", delete=False,
                            encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in examples)
    return file.name


def _release() -> None:
    clear_cache()
    gc.collect()
    free_gpu_memory()


class ScoredAnswer(str):
    """A generated answer with its values and the row that it responds to. Pickling drops both: the
    harness pickles answers to collect samples, which contain the values anyway."""

    results: Results
    document: Document

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


def score_responses(
    answers: Sequence[str], documents: Sequence[Document], options: Options,
    reported: Container[str],
) -> tuple[list[ScoredAnswer], Signatures]:
    """Scores the answers of a model; also returns the signatures. Only ``reported`` values are
    kept. ``f1`` compares with the gold response. ``bleu`` is the pair (gold response, answer),
    because BLEU is computed over all answers together."""
    # Answers of a server can contain lone surrogates, which can be neither tokenised nor written.
    texts = [answer.strip().encode("utf-8", "replace").decode("utf-8") for answer in answers]
    examples = [example_of(*both) for both in zip(documents, texts, strict=True)]
    by_row, signatures = score(examples, options, evidence=options.evidence)
    # Token F1 with the knowledge is always computed, because every task reports it.
    f1 = scoring.score([TokenF1()], examples)
    if options.no_claim == "exclude":
        _warn_of_silence(by_row)
    made = []
    for text, document, words, scores in zip(texts, documents, f1, by_row, strict=True):
        answer = ScoredAnswer(text)
        answer.document = document
        results = _against_gold(text, document) | _numbers({**words, **scores}, options.no_claim)
        answer.results = {name: value for name, value in results.items() if name in reported}
        made.append(answer)
    # The harness's BLEU cannot skip an entry. A pair of empty texts does not change BLEU.
    on_every_rank([answer.results for answer in made], {"bleu": ("", "")})
    return made, signatures


def _warn_of_silence(by_row: Sequence[Mapping[str, Score]]) -> None:
    """Warns of metrics for which the harness's table has no line, because no answer counts."""
    for name in dict.fromkeys(name for scores in by_row for name in scores):
        scores = [row[name] for row in by_row if name in row]
        if all(one.value is None and one.reason in CLAIMLESS for one in scores):
            _LOG.warning(
                "%s: no answer makes a claim, so with metric_no_claim=exclude all %d are left out "
                "and the table has no mean of it; metric_no_claim=zero counts them as 0",
                name, len(scores))


def _against_gold(text: str, document: Document) -> Results:
    results: Results = {"empty": float(is_blank(text))}
    if document["response"]:
        results["f1"] = token_f1(text, document["response"])
        results["bleu"] = (document["response"], text)
    return results


def _numbers(scores: Mapping[str, Score], no_claim: NoClaim) -> Results:
    numbers = scoring.row_numbers(scores, no_claim)
    row = output_row(0, Example("", ""), scores, list(scores))
    return {**{name: value for name, value in numbers.items() if value is not None},
            **{name: row.get(name) or [] for name in details(scores)}}


def example_of(document: Document, response: str) -> Example:
    return Example(response, document["knowledge"], tuple(document["history"]), document["id"],
                   question=document.get("question") or None)


def response_results(document: Document, results: Sequence[ScoredAnswer]) -> Results:
    """The values of a scored answer (the harness's ``process_results``). Raises InputError if the
    answer was given to another document, because ``--cache_requests`` reused requests of older
    data."""
    (answer,) = results
    if answer.document["knowledge"] != document["knowledge"]:
        raise InputError(
            f"the cached request of row {document['id']!r} was made from other data: "
            "run again with --cache_requests refresh")
    return answer.results
