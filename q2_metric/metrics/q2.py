"""Q²: asks questions about the response, answers them from the knowledge, and compares the answers.

Honovich et al., "Q²: Evaluating Factual Consistency in Knowledge-Grounded Dialogues via Question
Generation and Question Answering", EMNLP 2021 (arXiv 2104.08202).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from q2_metric.errors import InputError
from q2_metric.metrics import authors
from q2_metric.metrics.answers import agrees, compare, to_judge
from q2_metric.metrics.claims import Stated, claims_only, is_verdict, without_marks
from q2_metric.metrics.context import as_judged, claim_of, in_context
from q2_metric.metrics.q2_settings import FURTHER, Q2Settings
from q2_metric.metrics.settings import check_labels, check_stages, settings_and_runtime
from q2_metric.metrics.signature import parse, signature
from q2_metric.text.excerpts import Excerpt, excerpt
from q2_metric.text.normalise import normalise
from q2_metric.text.passages import in_passages
from q2_metric.types import (
    Answer,
    Comparison,
    CoreferenceResolver,
    Dropped,
    Entailment,
    Example,
    PersonalFilter,
    Question,
    QuestionGenerator,
    Reader,
    Score,
    Span,
    SpanFinder,
    Verdict,
)

FALLBACK_SCORE = {"entailment": 1.0, "neutral": 0.5, "contradiction": 0.0}
"""The score of each class if NLI judges a whole response (Q², section 4.2)."""


class Q2:
    """Scores a response by asking questions about it. Answers from the response are compared with
    answers from the knowledge.

    >>> Q2.from_preset("bundled").score([Example("...", "...")])  # doctest: +SKIP
    """

    name = "q2"

    def __init__(
        self,
        spans: SpanFinder,
        questions: QuestionGenerator,
        reader: Reader,
        entailment: Entailment,
        personal: PersonalFilter,
        coreference: CoreferenceResolver | None = None,
        settings: Q2Settings | None = None,
        preset: str = "custom",
        short_answers: Stated | None = None,
    ) -> None:
        check_stages(("spans", spans, "find"), ("questions", questions, "generate"),
                     ("reader", reader, "read"), ("entailment", entailment, "judge"),
                     ("personal", personal, "personal"))
        self.spans, self.questions, self.reader = spans, questions, reader
        self.entailment, self.personal, self.coreference = entailment, personal, coreference
        self.settings = settings or Q2Settings()
        if self.settings.coreference and coreference is None:
            raise InputError("coreference=True needs a coreference resolver")
        self.scores_all = self.settings.recipe == "authors"
        self.short_answers = short_answers if self.settings.context == "check" else None
        self.reads_question = self.short_answers is not None
        self._by_value = self.settings.values == "value"
        self.signature = self._signature(preset)

    @classmethod
    def from_preset(
        cls,
        preset: str = "bundled",
        *,
        question_model: str | None = None,
        reader_model: str | None = None,
        nli_model: str | None = None,
        coreference_model: str | None = None,
        **keywords: Any,
    ) -> Q2:
        """Creates the metric with a preset's models. Each model can be replaced.

        Args:
            preset: "bundled" or "bundled-small" (offline), "paper", "paper-exact", "paper-small" or
                "modern".
            question_model, reader_model, nli_model: a Hub name or local folder that replaces the
                preset's model.
            coreference_model: the model that resolves pronouns; ``None`` means the default of the
                coreference library.
            keywords: fields of :class:`Q2Settings` and of
                :class:`~q2_metric.runtime_config.RuntimeConfig` (device, dtype, batch_size, …). A
                setting that is not given has the preset's value, or, if ``nli_model`` is given, the
                paper's value.

        Raises:
            InputError: a preset or setting is unknown.
            MissingExtra: the preset needs a package that is not installed.
            ModelError: a model cannot be loaded.
        """
        from q2_metric.models import presets, stages
        from q2_metric.models.english.answers import EnglishAnswers

        models = presets.preset(preset)
        chosen, config = settings_and_runtime(
            Q2Settings, keywords, models.settings("q2", nli_model))
        theirs = chosen.recipe == "authors"
        stages.check(models, {"question_model": question_model, "reader_model": reader_model,
                              "nli_model": nli_model})
        return cls(
            spans=stages.load_spans(models, question_model, authors=theirs),
            questions=stages.load_questions(
                models, question_model, config, decoding=chosen.decoding, seed=chosen.seed,
                reading=chosen.reading, authors=theirs),
            reader=stages.load_reader(models, reader_model, config, authors=theirs),
            entailment=stages.load_nli(
                models, nli_model, config, labels=check_labels(chosen.nli_labels)),
            personal=stages.load_personal(authors=theirs),
            coreference=stages.load_coreference(coreference_model)
            if chosen.coreference else None,
            settings=chosen,
            preset=models.name,
            short_answers=EnglishAnswers().stated if chosen.context == "check" else None,
        )

    def _signature(self, preset: str) -> str:
        chosen = self.settings
        # Rules make their questions without decoding, so the setting has no effect.
        decoding = getattr(self.questions, "decoding", chosen.decoding)
        sampled = {"seed": chosen.seed} if decoding == "sample" else {}
        return signature("q2", {
            "preset": preset,
            "spans": self.spans.name,
            "qg": self.questions.name,
            "reader": self.reader.name,
            "nli": self.entailment.name if chosen.nli or chosen.fallback else "off",
            "decoding": decoding,
            **sampled,
            "questions": chosen.questions_per_span,
            "personal": chosen.personal,
            "compare": "nli" if chosen.nli else "f1",
            "fallback": "nli" if chosen.fallback else "off",
            "unanswerable": "drop" if chosen.drop_unanswerable else "keep",
            "coref": self.coreference.name if self.coreference and chosen.coreference else "off",
            **{name: getattr(chosen, name) for name, paper in FURTHER.items()
               if getattr(chosen, name) != paper},
        })

    @claims_only
    def score(self, examples: Sequence[Example]) -> list[Score]:
        """A score for each example, in order.

        Values are in [0, 1]. If a response has no valid question, NLI judges it as a whole, and its
        score has ``fallback=True``. With the setting ``fallback=False``, its value is ``None``.
        Each model runs once over all examples.
        """
        resolved = self._resolve(examples)
        # Answers yes or no whose question no rule could turn into a statement.
        silent = {example for example in resolved if self.short_answers and is_verdict(example)}
        unique = [example for example in dict.fromkeys(resolved) if example not in silent]
        questions, dropped = self._valid_questions(unique)
        left_out: dict[Example, list[Dropped]] = {}
        for rejected in dropped:
            left_out.setdefault(rejected.question.span.example, []).append(rejected)
        comparisons = self._compare(questions)
        if self.settings.context == "check":
            personal = self.personal if self.settings.personal == "remove" else None
            comparisons = in_context(unique, comparisons, self.entailment, personal, self._near)
        evidence: dict[Example, list[Comparison]] = {example: [] for example in unique}
        for comparison in comparisons:
            evidence[comparison.question.span.example].append(comparison)
        asked_nothing = [example for example in unique if not evidence[example]]
        verdicts: dict[Example, Verdict] = {}
        if self.settings.fallback and asked_nothing:
            judged = self.entailment.judge([self._whole(e) for e in asked_nothing])
            verdicts = dict(zip(asked_nothing, judged, strict=True))
        return [
            Score(original, None, reason="no_claim") if example in silent else replace(
                self._total(original, evidence[example], verdicts.get(example)),
                dropped=tuple(left_out.get(example, ())),
            )
            for original, example in zip(examples, resolved, strict=True)
        ]

    def _resolve(self, examples: Sequence[Example]) -> list[Example]:
        """The examples as Q² reads them: depending on the settings, without markup, with statements
        instead of short answers, and with the response's pronouns resolved."""
        if self.settings.markup == "skip":
            examples = list(map(without_marks, examples))
        if self.short_answers:
            stated = self.short_answers(examples)
            examples = [replace(example, response=said) if said else example
                        for example, said in zip(examples, stated, strict=True)]
        if not self.settings.coreference or self.coreference is None:
            return list(examples)
        texts = self.coreference.resolve([(*e.history, e.response) for e in examples])
        return [replace(e, response=text) for e, text in zip(examples, texts, strict=True)]

    def _whole(self, example: Example) -> tuple[str, str]:
        """The (premise, hypothesis) pair with which NLI judges the whole response."""
        if self.settings.recipe == "authors":
            return example.knowledge.lower(), example.response.lower()
        if self._by_value:
            return as_judged(example.knowledge, example.response, self._near)
        return example.knowledge, example.response

    def _valid_questions(
        self, examples: Sequence[Example]
    ) -> tuple[list[Question], list[Dropped]]:
        """The valid questions, and one rejected question for each span without a valid question.

        A question is valid if it is not about the speakers, and if the response answers it with the
        span that it asks about. If all questions of a span are rejected, the first is returned.
        """
        spans = [span for some in self.spans.find(examples) for span in some]
        candidates = self.questions.generate(spans)
        dropped: dict[int, Dropped] = {}
        if self.settings.personal == "remove":
            asked = list(dict.fromkeys(text for texts in candidates for text in texts))
            flags = self.personal.personal(asked)
            kept = {text for text, flag in zip(asked, flags, strict=True) if not flag}
            for i, texts in enumerate(candidates):
                for text in (text for text in texts if text not in kept):
                    dropped.setdefault(i, Dropped(Question(spans[i], text), "personal"))
            candidates = [[text for text in texts if text in kept] for texts in candidates]
        valid = self._round_trip(spans, candidates, dropped)
        questions = [
            Question(span, text) for span, texts in zip(spans, valid, strict=True) for text in texts
        ]
        return questions, [rejected for i, rejected in sorted(dropped.items()) if not valid[i]]

    def _round_trip(
        self, spans: Sequence[Span], candidates: Sequence[Sequence[str]],
        dropped: dict[int, Dropped],
    ) -> list[list[str]]:
        """The valid questions of each span.

        If one valid question for each span is enough, the reader first answers the best candidate
        of all spans. Then it answers the second-best candidates of the spans without a valid
        question, and so on.

        Args:
            spans: the spans.
            candidates: the candidate questions of each span, best first.
            dropped: rejected questions by the index of their span. The first invalid candidate of a
                span is added, if the span has no rejected question yet.
        """
        settings = self.settings
        whole, theirs = settings.reading == "response", settings.recipe == "authors"
        texts = [span.example.response for span in (spans if whole else in_passages(spans))]
        valid: list[list[str]] = [[] for _ in spans]
        for rank in range(max(map(len, candidates), default=0)):
            turn = [
                i for i, ranked in enumerate(candidates)
                if rank < len(ranked) and (theirs or normalise(spans[i].text))
                and not (valid[i] and settings.questions_per_span == "first_valid")
            ]
            answers = self._read([(candidates[i][rank], texts[i]) for i in turn])
            for i, answer in zip(turn, answers, strict=True):
                if answer and (authors.agrees(answer, spans[i]) if theirs else
                               agrees(answer, spans[i], settings.round_trip == "list")):
                    valid[i].append(candidates[i][rank])
                else:
                    asked = Question(spans[i], candidates[i][rank])
                    read = None if answer is None else answer.text
                    dropped.setdefault(i, Dropped(asked, "round_trip", read))
        return valid

    def _read(self, pairs: Sequence[tuple[str, str]]) -> list[Answer | None]:
        """The reader's answer to each (question, text) pair. Repeated pairs are read once."""
        unique = list(dict.fromkeys(pairs))
        answers = dict(zip(unique, self.reader.read(unique), strict=True)) if unique else {}
        return [answers[pair] for pair in pairs]

    def _answers(self, questions: Sequence[Question]) -> list[Answer | None]:
        """The knowledge's answer to each question. If the knowledge is long, the reader gets only
        the passages that share most words with the question and its sentence of the response."""
        near = [self._near(q.span.example.knowledge, f"{q.text} {claim_of(q)}") for q in questions]
        read = self._read([(q.text, part.text) for q, part in zip(questions, near, strict=True)])
        return [
            answer if answer is None or answer.start is None
            else replace(answer, start=part.place(answer.start))
            for answer, part in zip(read, near, strict=True)
        ]

    def _near(self, knowledge: str, about: str) -> Excerpt:
        """The part of the knowledge that models read for ``about`` (a question or a claim)."""
        settings = self.settings
        return excerpt(knowledge, about, settings.top_passages, settings.markup == "skip")

    def _compare(self, questions: Sequence[Question]) -> list[Comparison]:
        """Answers each question from the knowledge, and compares this answer with the question's
        span (section 2.3)."""
        answers = self._answers(questions)
        theirs, by_value = self.settings.recipe == "authors", self._by_value
        asked = [None if not self.settings.nli else authors.to_judge(q, a) if theirs
                 else to_judge(q, a, by_value) for q, a in zip(questions, answers, strict=True)]
        pairs = list(dict.fromkeys(pair for pair in asked if pair is not None))
        verdicts = dict(zip(pairs, self.entailment.judge(pairs), strict=True)) if pairs else {}
        comparisons = []
        for question, answer, pair in zip(questions, answers, asked, strict=True):
            verdict = verdicts[pair] if pair else None
            comparisons.append(authors.compare(question, answer, verdict) if theirs else compare(
                question, answer, verdict, by_value))
        return comparisons

    def _total(
        self, example: Example, evidence: list[Comparison], verdict: Verdict | None
    ) -> Score:
        """The score of a response: the mean of its questions' scores (section 2.4).

        If ``evidence`` contains no question, the score comes from ``verdict``, NLI's verdict on the
        whole response.
        """
        if not evidence:
            value = self._fallback(verdict) if verdict else None
            return Score(example, value, (), verdict is not None, value, verdict)
        counted = evidence
        if self.settings.drop_unanswerable:
            counted = [c for c in evidence if c.how != "no_answer"] or evidence
        return Score(
            example,
            value=sum(c.score for c in counted) / len(counted),
            evidence=tuple(counted),
            no_nli=sum(c.f1 for c in counted) / len(counted),
        )

    def _fallback(self, verdict: Verdict) -> float:
        """The score of a response without questions, from NLI's verdict on it (section 4.2)."""
        if self.settings.fallback_score == "expected":
            return verdict.entailment + 0.5 * verdict.neutral
        return FALLBACK_SCORE[verdict.label]


def without_nli(signed: str) -> str:
    """Turns the signature of Q² (the line that records models and settings) into the signature of
    "Q² without NLI", which is computed in the same run."""
    _, settings = parse(signed)
    settings["compare"] = "f1"
    if settings.get("fallback") == "off":
        settings["nli"] = "off"
    settings.pop("calibration", None)  # the calibration is not applied to Q² without NLI
    return signature("q2_no_nli", settings)
