"""Q²: asks questions about the response, answers them from the knowledge, and compares the answers.

Honovich et al., "Q²: Evaluating Factual Consistency in Knowledge-Grounded Dialogues via Question
Generation and Question Answering", EMNLP 2021 (arXiv 2104.08202).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from q2_metric.errors import InputError
from q2_metric.memory import remembered
from q2_metric.metrics.claims import gated, reads
from q2_metric.metrics.entry import named
from q2_metric.metrics.settings import Q2Settings, check_labels, check_stages, settings_and_runtime
from q2_metric.metrics.signature import parse, signature
from q2_metric.text.excerpts import Excerpt
from q2_metric.text.normalise import normalise, token_f1
from q2_metric.types import (
    Answer,
    Comparison,
    CoreferenceResolver,
    Dropped,
    Entailment,
    Example,
    How,
    PersonalFilter,
    Question,
    QuestionGenerator,
    Reader,
    Score,
    Span,
    SpanFinder,
    Verdict,
)

RECIPES = {"paper": "q2_metric.metrics.q2:Q2",
           "authors": "q2_metric.metrics.authors:AuthorsProgramQ2",
           "bundled": "q2_metric.metrics.bundled_q2:BundledQ2"}
FALLBACK_SCORE = {"entailment": 1.0, "neutral": 0.5, "contradiction": 0.0}
"""The score of each class if NLI judges a whole response (Q², section 4.2)."""


class Q2:
    """Compares answers from the response with answers from the knowledge, question by question."""

    name = "q2"
    recipe: Literal["paper", "authors", "bundled"] = "paper"
    reading: Literal["neighbours", "response"] = "response"
    """The text in which questions are made: a span's sentence with its neighbours, or all."""
    scores_all = reads_question = False

    def __init__(
        self, spans: SpanFinder, questions: QuestionGenerator, reader: Reader,
        entailment: Entailment, personal: PersonalFilter,
        coreference: CoreferenceResolver | None = None, settings: Q2Settings | None = None,
        preset: str = "custom",
    ) -> None:
        check_stages(("spans", spans, "find"), ("questions", questions, "generate"),
                     ("reader", reader, "read"), ("entailment", entailment, "judge"),
                     ("personal", personal, "personal"))
        self.spans, self.questions, self.reader = spans, questions, reader
        self.entailment, self.personal, self.coreference = entailment, personal, coreference
        self.settings = settings or Q2Settings(recipe=self.recipe)
        if self.settings.recipe != self.recipe:
            raise InputError(f"{type(self).__name__} has the recipe {self.recipe!r}, not "
                             f"{self.settings.recipe!r}; Q2.from_preset makes the right class")
        if self.settings.coreference and coreference is None:
            raise InputError("coreference=True needs a coreference resolver")
        self.signature = self._signature(preset)

    @classmethod
    def from_preset(
        cls, preset: str = "bundled", *, question_model: str | None = None,
        reader_model: str | None = None, nli_model: str | None = None,
        coreference_model: str | None = None, **keywords: Any,
    ) -> Q2:
        """Creates the metric with a preset's models. Each model can be replaced.

        Args:
            preset: as for :func:`~q2_metric.metrics.load_metrics`.
            question_model, reader_model, nli_model: a Hub name or a local folder.
            coreference_model: the class of a :class:`~q2_metric.types.CoreferenceResolver`, as
                "package.module:Class". The setting ``coreference`` needs it.
            keywords: fields of :class:`Q2Settings` and of
                :class:`~q2_metric.runtime_config.RuntimeConfig`. A setting that is not given has
                the preset's value, or, if ``nli_model`` is given, the paper's value.

        Raises:
            InputError, MissingExtra, ModelError: as for :func:`~q2_metric.metrics.load_metrics`.
        """
        from q2_metric.english.parse import parser
        from q2_metric.english.questions.syntactic import SyntacticQuestions
        from q2_metric.models import presets, stages

        models = presets.preset(preset)
        chosen, config = settings_and_runtime(
            Q2Settings, keywords, models.settings("q2", nli_model))
        recipe: type[Q2] = named(RECIPES[chosen.recipe])
        theirs = chosen.recipe == "authors"
        stages.check(models, {"question_model": question_model, "reader_model": reader_model,
                              "nli_model": nli_model})
        metric = recipe(
            spans=(parser.AuthorsSpans if theirs else parser.SpacySpans)(),
            questions=SyntacticQuestions()
            if models.questions.kind == "syntactic" and question_model is None else
            stages.load_questions(
                models, question_model, config, decoding=chosen.decoding, seed=chosen.seed,
                reading=recipe.reading, authors=theirs),
            reader=stages.load_reader(models, reader_model, config, authors=theirs),
            entailment=stages.load_nli(
                models, nli_model, config, labels=check_labels(chosen.nli_labels)),
            personal=(parser.AuthorsPersonal if theirs else parser.SpacyPersonal)(),
            coreference=stages.load_coreference(coreference_model)
            if chosen.coreference else None, settings=chosen, preset=models.name)
        metric.scores_all = recipe.scores_all or (models.scores_all and chosen.recipe == "paper")
        return reads(metric, config)

    def _signature(self, preset: str) -> str:
        chosen = self.settings
        # Rules make their questions without decoding, so the setting has no effect.
        decoding = getattr(self.questions, "decoding", chosen.decoding)
        sampled = {"seed": chosen.seed} if decoding == "sample" else {}
        return signature("q2", {
            "preset": preset, "spans": self.spans.name, "qg": self.questions.name,
            "reader": self.reader.name,
            "nli": self.entailment.name if chosen.nli or chosen.fallback else "off",
            "decoding": decoding, **sampled,
            "questions": chosen.questions_per_span, "personal": chosen.personal,
            "compare": "nli" if chosen.nli else "f1",
            "fallback": "nli" if chosen.fallback else "off",
            "unanswerable": "drop" if chosen.drop_unanswerable else "keep",
            "coref": self.coreference.name if self.coreference and chosen.coreference else "off",
            **self.signed()})

    @gated
    def score(self, examples: Sequence[Example]) -> list[Score]:
        """Scores in [0, 1]. NLI judges a response without a valid question as a whole
        (``Score.fallback``); with the setting ``fallback=False``, its value is ``None``. Each model
        runs once over all examples."""
        read = self.prepare(examples)
        unique = [example for example in dict.fromkeys(read) if not self.is_silent(example)]
        spans = [span for some in self.spans.find(unique) for span in some]
        questions, dropped = self.valid_questions(spans)
        evidence: dict[Example, list[Comparison]] = {example: [] for example in unique}
        for comparison in self.review(unique, self.comparisons(questions)):
            evidence[comparison.question.span.example].append(comparison)
        left_out: dict[Example, list[Dropped]] = {example: [] for example in unique}
        for rejected in dropped:
            left_out[rejected.question.span.example].append(rejected)
        asked_nothing = [example for example in unique
                         if not evidence[example] and self.settings.fallback]
        verdicts = dict(zip(
            asked_nothing, self.judged(map(self.whole, asked_nothing)), strict=True))
        return [
            Score(original, None, reason="no_claim") if example not in evidence else replace(
                self._total(original, evidence[example], verdicts.get(example)),
                dropped=tuple(left_out[example]))
            for original, example in zip(examples, read, strict=True)]

    # The steps that a recipe can replace.

    def signed(self) -> dict[str, object]:
        """What the signature adds to the paper's settings."""
        return {} if self.recipe == "paper" else {"recipe": self.recipe}

    def prepare(self, examples: Sequence[Example]) -> list[Example]:
        """Resolves the response's pronouns with the setting ``coreference`` (v1, appendix A)."""
        if not self.settings.coreference or self.coreference is None:
            return list(examples)
        texts = resolve_turns(self.coreference, [(*e.history, e.response) for e in examples])
        return [replace(e, response=text) for e, text in zip(examples, texts, strict=True)]

    def is_silent(self, example: Example) -> bool:
        """Whether a prepared example claims nothing."""
        return False

    def read_for(self, spans: Sequence[Span]) -> list[str]:
        """For each span, the text in which its question is answered to validate it."""
        return [span.example.response for span in spans]

    def agrees(self, answer: Answer, span: Span) -> bool:
        """The round trip (2.2): whether the answer from the response is the question's span."""
        return normalise(answer.text) == normalise(span.text)

    def knowledge_for(self, question: Question) -> Excerpt:
        return Excerpt(question.span.example.knowledge)

    def same(self, span: Span, answer: str) -> bool | None:
        """Whether span and answer agree; ``None`` if only NLI can tell."""
        return True if normalise(answer) == normalise(span.text) else None

    def to_judge(self, question: Question, answer: Answer | None) -> tuple[str, str] | None:
        """The (premise, hypothesis) for NLI; ``None`` if the answers can be compared without it."""
        if answer is None or self.same(question.span, answer.text) is not None:
            return None
        return (answer_sentence(question.text, answer.text),
                answer_sentence(question.text, question.span.text))

    def compare(
        self, question: Question, answer: Answer | None, verdict: Verdict | None,
    ) -> Comparison:
        """Scores one question (2.3). NLI's entailment scores 1, contradiction 0, and neutral or no
        verdict the token F1 of the two answers."""
        span = question.span.text
        if answer is None:
            return Comparison(question, span, None, 0.0, None, "no_answer", 0.0)
        equal = self.same(question.span, answer.text)
        f1 = token_f1(span, answer.text)
        if equal is not None:
            how: How = "equal" if equal else "contradicted"
            return Comparison(
                question, span, answer.text, f1, None, how, float(equal), answer.start)
        return judged_answer(question, answer, verdict, f1)

    def review(self, examples: Sequence[Example], found: list[Comparison]) -> list[Comparison]:
        return found

    def whole(self, example: Example) -> tuple[str, str]:
        """The (premise, hypothesis) pair with which NLI judges the whole response (section 4.2)."""
        return example.knowledge, example.response

    def fallback_value(self, verdict: Verdict) -> float:
        return FALLBACK_SCORE[verdict.label]

    # The paper's computation.

    def valid_questions(self, spans: Sequence[Span]) -> tuple[list[Question], list[Dropped]]:
        """The valid questions, and the first rejected one of each other span (2.1, 2.2)."""
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
        questions = [Question(span, text) for span, texts in zip(spans, valid, strict=True)
                     for text in texts]
        return questions, [rejected for i, rejected in sorted(dropped.items()) if not valid[i]]

    def _round_trip(
        self, spans: Sequence[Span], candidates: Sequence[Sequence[str]],
        dropped: dict[int, Dropped],
    ) -> list[list[str]]:
        """The valid questions of each span. If one is enough, only spans without one have their
        next candidate read. A span's first invalid candidate is added to ``dropped``."""
        texts = self.read_for(spans)
        valid: list[list[str]] = [[] for _ in spans]
        for rank in range(max(map(len, candidates), default=0)):
            turn = [i for i, ranked in enumerate(candidates) if rank < len(ranked)
                    and not (valid[i] and self.settings.questions_per_span == "first_valid")]
            answers = remembered(
                self.reader.read, [(candidates[i][rank], texts[i]) for i in turn], {})
            for i, answer in zip(turn, answers, strict=True):
                if answer and self.agrees(answer, spans[i]):
                    valid[i].append(candidates[i][rank])
                else:
                    asked = Question(spans[i], candidates[i][rank])
                    read = None if answer is None else answer.text
                    dropped.setdefault(i, Dropped(asked, "round_trip", read))
        return valid

    def _answers(self, questions: Sequence[Question]) -> list[Answer | None]:
        near = list(map(self.knowledge_for, questions))
        pairs = [(q.text, part.text) for q, part in zip(questions, near, strict=True)]
        return [answer if answer is None or answer.start is None
                else replace(answer, start=part.place(answer.start))
                for answer, part in zip(remembered(self.reader.read, pairs, {}), near, strict=True)]

    def comparisons(self, questions: Sequence[Question]) -> list[Comparison]:
        """Answers each question from the knowledge, and compares the answers (section 2.3)."""
        answers = self._answers(questions)
        asked = [self.to_judge(question, answer) if self.settings.nli else None
                 for question, answer in zip(questions, answers, strict=True)]
        verdicts = iter(self.judged([pair for pair in asked if pair]))
        return [self.compare(question, answer, next(verdicts) if pair else None)
                for question, answer, pair in zip(questions, answers, asked, strict=True)]

    def judged(self, pairs: Iterable[tuple[str, str]]) -> list[Verdict]:
        """NLI's verdict on each (premise, hypothesis) pair."""
        return remembered(self.entailment.judge, pairs, {})

    def _total(self, example: Example, found: list[Comparison], verdict: Verdict | None) -> Score:
        """The mean of the questions' scores (section 2.4), or the value of NLI's ``verdict``."""
        if not found:
            value = self.fallback_value(verdict) if verdict else None
            return Score(example, value, (), verdict is not None, value, verdict)
        counted = found
        if self.settings.drop_unanswerable:
            counted = [c for c in found if c.how != "no_answer"] or found
        return Score(example, sum(c.score for c in counted) / len(counted), tuple(counted),
                     no_nli=sum(c.f1 for c in counted) / len(counted))


def resolve_turns(resolver: CoreferenceResolver, dialogues: Sequence[Sequence[str]]) -> list[str]:
    """The last turn of each dialogue. As in v1, appendix A, each turn is resolved with the turns
    before it as they were resolved."""
    resolved: list[list[str]] = [[] for _ in dialogues]
    for turn in range(max(map(len, dialogues), default=0)):
        places = [i for i, dialogue in enumerate(dialogues) if turn < len(dialogue)]
        texts = resolver.resolve([(*resolved[i], dialogues[i][turn]) for i in places])
        for i, text in zip(places, texts, strict=True):
            resolved[i].append(text)
    return [turns[-1] if turns else "" for turns in resolved]


def answer_sentence(question: str, answer: str) -> str:
    """The text of a question and its answer that the NLI model reads (section 2.3)."""
    return f"{question} {answer.rstrip(' .')}."


def judged_answer(
    question: Question, answer: Answer, verdict: Verdict | None, f1: float, how: How = "token_f1",
) -> Comparison:
    """Scores an answer by NLI's verdict; without one, or if it is neutral, by token F1."""
    if verdict is None or verdict.label == "neutral":
        score = f1
    else:
        how, score = "nli", 1.0 if verdict.label == "entailment" else 0.0
    return Comparison(
        question, question.span.text, answer.text, f1, verdict, how, score, answer.start)


def without_nli(signed: str) -> str:
    """The signature of "Q² without NLI", which is computed in the same run."""
    _, settings = parse(signed)
    settings["compare"] = "f1"
    if settings.get("fallback") == "off":
        settings["nli"] = "off"
    settings.pop("calibration", None)  # the calibration is not applied to Q² without NLI
    return signature("q2_no_nli", settings)
