"""The torch models, on tiny random models with real tokenizers (see local_models.py)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")


import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from local_models import ENCODERS, bart, encoder, t5, wordpiece

from q2_metric.errors import InputError, MissingExtra, ModelError
from q2_metric.models.hub import loading, tokens
from q2_metric.models.hub import questions as torch_questions
from q2_metric.models.hub.loading import Loaded, load_pretrained
from q2_metric.models.hub.nli import TorchNli, label_order
from q2_metric.models.hub.prompts import PROMPTS, Prompt
from q2_metric.models.hub.questions import Seq2SeqQuestions, around, clean
from q2_metric.models.hub.reader import TorchReader
from q2_metric.models.hub.templates import TEMPLATES
from q2_metric.models.hub.two_rows import answer_ids
from q2_metric.models.hub.yes_no import YesNoEntailment
from q2_metric.models.spans import best_span
from q2_metric.types import Answer, Backbone, Entailment, Example, QuestionGenerator, Reader, Span

LONG = "The red dog sleeps in the house, and  the café was born. " * 12
PAIRS = [
    ("Who sleeps?", LONG),
    ("Where is the dog?", "The big  dog is in Paris."),
    ("What was built in 1994?", " the museum\twas built in 1994 "),
    ("Who?", "she"),
    ("When?", "The king and the queen, in France; a ship sails north! " * 4),
]
QA = "AutoModelForQuestionAnswering"
NLI = "AutoModelForSequenceClassification"
THREE = {0: "neutral", 1: "CONTRADICTION", 2: "Entailment"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folders of saved models by name, made at first use."""
    root = tmp_path_factory.mktemp("models")
    made: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in made:
            kind, _, task = name.partition("/")
            if kind == "t5":
                made[name] = t5(root / name, tied=task == "tied", marks=["<hl>"])
            elif kind == "bart":
                made[name] = bart(root / name)
            elif task == "qa":
                made[name] = encoder(root / name, kind, QA)
            else:
                made[name] = encoder(root / name, kind, NLI, id2label=THREE)
        return made[name]

    return build


@pytest.fixture(scope="module")
def loaded(folders: Callable[[str], Path]) -> Callable[[str], Loaded]:
    """Loaded models by name."""
    made: dict[str, Loaded] = {}

    def load(name: str) -> Loaded:
        if name not in made:
            auto: Any = {"qa": QA, "nli": NLI}.get(name.split("/")[1], "AutoModelForSeq2SeqLM")
            made[name] = load_pretrained(auto, str(folders(name)), "cpu")
        return made[name]

    return load


AUTO: dict[type, Any] = {
    TorchReader: QA, TorchNli: NLI, Seq2SeqQuestions: "AutoModelForSeq2SeqLM",
}


def load(kind: type, name: str, dtype: str = "float32") -> Loaded:
    """What a stage of this kind runs, from the Hub or a folder."""
    return load_pretrained(AUTO[kind], name, "cpu", dtype)


Load = Callable[[str], Loaded]
Folders = Callable[[str], Path]


class Scripted:
    """A model whose logits are a function of the token ids; it remembers what it was given."""

    def __init__(self, logits: Callable[[torch.Tensor], Any], **config: Any) -> None:
        self.logits = logits
        self.seen: list[list[int]] = []
        self.batches: list[int] = []
        self.config = SimpleNamespace(
            **{"pad_token_id": 0, "model_type": "bert", "max_position_embeddings": 64, **config}
        )

    def __call__(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **_: Any) -> Any:
        self.batches.append(len(input_ids))
        for ids, mask in zip(input_ids, attention_mask, strict=True):
            self.seen.append(ids[mask.bool()].tolist())
        return self.logits(input_ids)


def scripted(tmp_path: Path, logits: Callable[[Any, torch.Tensor], Any], **config: Any) -> Loaded:
    """A BERT tokenizer around a scripted model; ``logits`` gets the vocabulary too."""
    tokenizer = wordpiece(tmp_path)
    vocabulary = tokenizer.get_vocab()
    model = Scripted(lambda ids: logits(vocabulary, ids), **config)
    return Loaded("scripted", tokenizer, model, "cpu")


# --- reader -----------------------------------------------------------------------------


def test_the_classes_fit_their_protocols(loaded: Load) -> None:
    assert isinstance(TorchReader(loaded("bert/qa")), Reader)
    assert isinstance(TorchNli(loaded("bert/nli")), Entailment)
    assert isinstance(TorchNli(loaded("bert/nli")), Backbone)
    assert isinstance(YesNoEntailment(loaded("t5/tied")), Backbone)
    assert isinstance(Seq2SeqQuestions(loaded("t5/tied")), QuestionGenerator)


@pytest.mark.parametrize("kind", ENCODERS)
def test_reader_does_not_depend_on_batches(loaded: Load, kind: str) -> None:
    model = loaded(f"{kind}/qa")
    alone = [TorchReader(model, threshold=-1e9).read([pair])[0] for pair in PAIRS]
    for batch_size in (1, 3, 16):
        for order in (PAIRS, PAIRS[::-1]):
            answers = TorchReader(model, threshold=-1e9, batch_size=batch_size).read(order)
            for pair, answer in zip(order, answers, strict=True):
                expected = alone[PAIRS.index(pair)]
                assert answer is not None
                assert expected is not None
                assert (answer.text, answer.start) == (expected.text, expected.start)
                assert answer.score == pytest.approx(expected.score, abs=1e-5)


@pytest.mark.parametrize("kind", ENCODERS)
def test_answers_are_cut_from_the_text(loaded: Load, kind: str) -> None:
    for answer, (_, context) in zip(
        TorchReader(loaded(f"{kind}/qa"), threshold=-1e9).read(PAIRS), PAIRS, strict=True
    ):
        assert answer is not None
        assert answer.text
        assert context[answer.start : answer.start + len(answer.text)] == answer.text
        assert answer.text == answer.text.strip()


@pytest.mark.parametrize("kind", ENCODERS)
def test_reader_agrees_with_a_plain_forward_pass(loaded: Load, kind: str) -> None:
    model = loaded(f"{kind}/qa")
    question, context = PAIRS[1]
    encoded = model.tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
    offsets = encoded.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        output = model.model(**encoded)
    start, end = output.start_logits[0].numpy(), output.end_logits[0].numpy()
    legal = [
        i
        for i, which in enumerate(encoded.sequence_ids(0))
        if which == 1 and context[slice(*offsets[i])].strip()
    ]
    first, last = max(
        ((i, j) for i in legal for j in legal if i <= j < i + 30),
        key=lambda pair: start[pair[0]] + end[pair[1]],
    )
    answer = TorchReader(model, threshold=-1e9).read([(question, context)])[0]
    assert answer is not None
    assert answer.text == context[offsets[first][0] : offsets[last][1]].strip()
    null = float(start[0] + end[0])
    assert answer.score == pytest.approx(float(start[first] + end[last]) - null, abs=1e-4)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_best_span_is_the_brute_force_one(size: int, longest: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    start, end = generator.normal(size=(2, size))
    allowed = (generator.random(size) < 0.6).tolist()
    legal = [
        (float(start[i]) + float(end[j]), i, j)
        for i in range(size)
        for j in range(i, min(size, i + longest))
        if allowed[i] and allowed[j]
    ]
    first, last, score = best_span(start, end, longest, allowed)
    if legal:
        assert (score, first, last) == max(legal)
    else:
        assert score == -np.inf


def test_best_end_before_best_start_is_no_answer_of_its_own() -> None:
    start, end = np.array([0.0, 1, 9, 0]), np.array([0.0, 9, 1, 0])
    assert best_span(start, end, 30) == (1, 1, 10.0)


def spans_of(word: str, null: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    """Logits: 5 at the word's tokens, ``null`` at [CLS], else -1."""

    def logits(vocabulary: Any, ids: torch.Tensor) -> Any:
        scores = torch.where(ids == vocabulary[word], 5.0, -1.0)
        scores[:, 0] = null(ids == vocabulary[word])
        return SimpleNamespace(start_logits=scores, end_logits=scores.clone())

    return logits


def test_windows_find_a_late_answer(tmp_path: Path) -> None:
    # "No answer" scores 2 x 3 where the word is missing, 2 x 1 where it is there.
    model = scripted(tmp_path, spans_of("1994", lambda hit: torch.where(hit.any(1), 1.0, 3.0)))
    context = "the red dog sleeps in the house . " * 20 + "it was built in 1994 ."
    answer = TorchReader(model).read([("when was it built?", context)])[0]
    assert len(model.model.seen) > 3
    assert answer == Answer("1994", context.index("1994"), 10.0 - 2.0)
    question = model.tokenizer("when was it built?")["input_ids"]
    assert all(ids[: len(question)] == question for ids in model.model.seen)
    assert all(len(ids) <= 64 for ids in model.model.seen)


def test_every_token_of_a_context_is_in_a_window(tmp_path: Path) -> None:
    for position in (0, 37, 45, 46, 47, 60, 99):
        words = ["dog"] * 100
        words[position] = "1994"
        model = scripted(tmp_path, spans_of("1994", lambda hit: torch.zeros(len(hit))))
        answer = TorchReader(model).read([("when?", " ".join(words))])[0]
        assert answer is not None
        assert answer.start == 4 * position


@pytest.mark.parametrize(("threshold", "found"), [(0.0, True), (7.9, True), (8.0, False)])
def test_threshold(tmp_path: Path, threshold: float, found: bool) -> None:
    model = scripted(tmp_path, spans_of("dog", lambda hit: torch.ones(len(hit))))
    answer = TorchReader(model, threshold=threshold).read([("who?", "a dog")])[0]
    assert (answer is not None) is found


def test_unanswerable_is_none_and_the_question_is_never_the_answer(tmp_path: Path) -> None:
    model = scripted(tmp_path, spans_of("dog", lambda hit: torch.zeros(len(hit))))
    assert TorchReader(model).read([("dog dog dog?", "a cat")]) == [None]


@pytest.mark.parametrize("pair", [("who?", ""), ("who?", " \n"), ("", "a dog"), (" ", "a dog")])
def test_nothing_to_read_is_no_answer_and_no_work(tmp_path: Path, pair: tuple[str, str]) -> None:
    model = scripted(tmp_path, spans_of("dog", lambda hit: torch.zeros(len(hit))))
    assert TorchReader(model).read([pair]) == [None]
    assert model.model.seen == []


def test_equal_pairs_are_read_once(tmp_path: Path) -> None:
    model = scripted(tmp_path, spans_of("dog", lambda hit: torch.zeros(len(hit))))
    answers = TorchReader(model).read([("who?", "a dog"), ("what?", "cat"), ("who?", "a dog")])
    assert len(model.model.seen) == 2
    assert answers[0] == answers[2]
    assert answers[0] is not None
    assert answers[1] is None


@pytest.mark.parametrize("kind", ENCODERS)
def test_question_longer_than_the_window(loaded: Load, kind: str) -> None:
    reader = TorchReader(loaded(f"{kind}/qa"), threshold=-1e9)
    answer = reader.read([("Who is the old man ? " * 60, LONG)])[0]
    assert answer is not None
    assert answer.text in LONG


def test_answers_have_a_length_limit(loaded: Load) -> None:
    model = loaded("bert/qa")
    for answer in TorchReader(model, threshold=-1e9, max_answer=2).read(PAIRS):
        assert answer is not None
        assert len(tokens.token_offsets(model.tokenizer, answer.text)) <= 2


# --- NLI --------------------------------------------------------------------------------

PREMISES = [
    ("The red dog sleeps.", "A dog sleeps."),
    (LONG, "The cat runs."),
    ("", "She has red hair."),
    ("Paris is the capital of France.", ""),
    ("He was born in 1994 by the sea.", "The old man is not in Paris, and the ship sails."),
]


@pytest.mark.parametrize("kind", ENCODERS)
def test_nli_does_not_depend_on_batches(loaded: Load, kind: str) -> None:
    model = loaded(f"{kind}/nli")
    alone = [TorchNli(model).judge([pair])[0] for pair in PREMISES]
    for batch_size in (1, 3, 16):
        for order in (PREMISES, PREMISES[::-1]):
            for pair, verdict in zip(
                order, TorchNli(model, batch_size=batch_size).judge(order), strict=True
            ):
                expected = alone[PREMISES.index(pair)]
                assert verdict.entailment == pytest.approx(expected.entailment, abs=1e-5)
                assert verdict.contradiction == pytest.approx(expected.contradiction, abs=1e-5)
                total = verdict.entailment + verdict.neutral + verdict.contradiction
                assert total == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("kind", ENCODERS)
def test_nli_agrees_with_a_plain_forward_pass(loaded: Load, kind: str) -> None:
    model = loaded(f"{kind}/nli")
    with torch.inference_mode():
        encoded = model.tokenizer(*PREMISES[0], return_tensors="pt")
        chances = model.model(**encoded).logits.softmax(-1)[0].tolist()
    verdict = TorchNli(model).judge([PREMISES[0]])[0]
    assert [verdict.neutral, verdict.contradiction, verdict.entailment] == pytest.approx(
        chances, abs=1e-5
    )


def test_label_order_is_the_configs(folders: Folders) -> None:
    folder = folders("bert/nli")
    path = folder / "config.json"
    original = path.read_text()
    # One window each: of several, the label itself decides which one counts.
    pairs = [PREMISES[0], *PREMISES[2:]]
    before = TorchNli(load(TorchNli, str(folder))).judge(pairs)
    swapped = {0: "entailment", 1: "neutral", 2: "contradiction"}
    path.write_text(
        json.dumps(
            {
                **json.loads(original),
                "id2label": swapped,
                "label2id": {name: i for i, name in swapped.items()},
            }
        )
    )
    try:
        after = TorchNli(load(TorchNli, str(folder))).judge(pairs)
    finally:
        path.write_text(original)
    for old, new in zip(before, after, strict=True):
        assert (new.entailment, new.neutral, new.contradiction) == pytest.approx(
            (old.neutral, old.contradiction, old.entailment), abs=1e-6
        )


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["ENTAILMENT", "Neutral", "contradiction"], ["entailment", "neutral", "contradiction"]),
        (["contradiction", "entailment", "neutral"], ["contradiction", "entailment", "neutral"]),
        (["entailment", "not_entailment"], ["entailment", "neutral"]),
        (["not-entailment", "entailment"], ["neutral", "entailment"]),
    ],
)
def test_label_names(names: list[str], order: list[str]) -> None:
    config = SimpleNamespace(id2label=dict(enumerate(names)), num_labels=len(names))
    assert label_order("m", config) == order


@pytest.mark.parametrize(
    "names",
    [
        ["LABEL_0", "LABEL_1", "LABEL_2"],
        ["positive", "negative"],
        ["entailment"],
        ["neutral", "contradiction"],
        ["entailment", "entailment", "neutral"],
    ],
)
def test_unclear_labels_are_refused(names: list[str]) -> None:
    config = SimpleNamespace(id2label=dict(enumerate(names)), num_labels=len(names))
    with pytest.raises(ModelError):
        label_order("m", config)


def test_labels_can_be_given() -> None:
    config = SimpleNamespace(id2label={0: "LABEL_0", 1: "LABEL_1"}, num_labels=2)
    assert label_order("m", config, ("not_entailment", "entailment")) == ["neutral", "entailment"]
    with pytest.raises(InputError, match="3 labels given"):
        label_order("m", config, ("entailment", "neutral", "contradiction"))


def entails_if(word: str) -> Callable[..., Any]:
    def logits(vocabulary: Any, ids: torch.Tensor) -> Any:
        hit = (ids == vocabulary[word]).any(dim=1)
        return SimpleNamespace(logits=torch.stack([hit * 4.0, ~hit * 4.0, hit * 0.0], dim=1))

    return logits


NAMES = {0: "entailment", 1: "neutral", 2: "contradiction"}


def test_long_premise_has_the_verdict_of_its_best_window(tmp_path: Path) -> None:
    model = scripted(tmp_path, entails_if("1994"), id2label=NAMES, num_labels=3)
    premise = "the red dog sleeps in the house . " * 20 + "it was built in 1994 ."
    nli = TorchNli(model)
    found, missing = nli.judge([(premise, "a ship sails"), (premise[:-7], "a ship sails")])
    assert found.entailment > 0.9
    assert missing.entailment < 0.1
    hypothesis = model.tokenizer("a ship sails", add_special_tokens=False)["input_ids"]
    assert all(ids[-4:-1] == hypothesis for ids in model.model.seen)
    assert all(len(ids) <= 64 for ids in model.model.seen)


def test_only_an_oversized_hypothesis_is_cut(tmp_path: Path) -> None:
    model = scripted(tmp_path, entails_if("1994"), id2label=NAMES, num_labels=3)
    TorchNli(model).judge([("a dog", "the red cat " * 60)])
    (ids,) = model.model.seen
    assert len(ids) == 2 + 32 + 3


def test_equal_pairs_are_judged_once(tmp_path: Path) -> None:
    model = scripted(tmp_path, entails_if("1994"), id2label=NAMES, num_labels=3)
    pairs = [("a dog", "a cat"), ("1994", "a cat"), ("a dog", "a cat")]
    verdicts = TorchNli(model).judge(pairs)
    assert len(model.model.seen) == 2
    assert verdicts[0] == verdicts[2] != verdicts[1]


@pytest.mark.parametrize("kind", ["albert/nli", "roberta/nli", "bert/nli", "t5/tied"])
def test_offsets_are_exact(loaded: Load, kind: str) -> None:
    model = loaded(kind)
    text = " The  red dog,\nin Paris — café. "
    backbone: Backbone = TorchNli(model) if kind.endswith("nli") else YesNoEntailment(model)
    offsets = backbone.offsets(text)
    covered = {i for start, end in offsets for i in range(start, end)}
    assert {i for i, letter in enumerate(text) if not letter.isspace()} <= covered
    for start, end in offsets:
        assert text[start:end]
        assert text[start:end] == text[start:end].strip()
    assert backbone.offsets("") == []


# --- Yes/No -----------------------------------------------------------------------------

SEQ2SEQ = ["t5/tied", "t5/untied", "bart/x"]


@pytest.mark.parametrize("name", SEQ2SEQ)
@pytest.mark.parametrize("prompt", ["scale", "minicheck"])
def test_two_rows_of_the_head_equal_the_whole(loaded: Load, name: str, prompt: str) -> None:
    model = loaded(name)
    yes, no = answer_ids(model, PROMPTS[prompt])
    verdicts = YesNoEntailment(model, prompt=prompt, batch_size=2).judge(PREMISES[:4])
    for (chunk, sentence), verdict in zip(PREMISES, verdicts, strict=False):
        encoded = model.tokenizer(PROMPTS[prompt].fill(chunk, sentence), return_tensors="pt")
        start = torch.tensor([[model.model.config.decoder_start_token_id]])
        with torch.inference_mode():
            logits = model.model(
                input_ids=encoded["input_ids"],
                attention_mask=encoded["attention_mask"],
                decoder_input_ids=start,
            ).logits
        assert logits.shape[-1] >= len(model.tokenizer) > 2
        expected = logits[0, 0, [yes, no]].softmax(-1).tolist()
        assert [verdict.entailment, verdict.neutral] == pytest.approx(expected, abs=1e-5)
        assert verdict.contradiction == 0.0


def test_an_untied_head_is_the_saved_one_and_its_input_is_not_scaled(folders: Folders) -> None:
    from safetensors.torch import load_file

    folder = folders("t5/untied")
    weights = load_file(folder / "model.safetensors")
    model = load_pretrained("AutoModelForSeq2SeqLM", str(folder), "cpu").model
    assert torch.equal(model.get_output_embeddings().weight, weights["lm_head.weight"])
    assert torch.equal(model.get_input_embeddings().weight, weights["shared.weight"])
    assert model.config.scale_decoder_outputs is False


@pytest.mark.parametrize("name", SEQ2SEQ)
def test_the_model_itself_is_left_whole(loaded: Load, name: str) -> None:
    model = loaded(name)
    rows = model.model.get_output_embeddings().weight.shape[0]
    first = YesNoEntailment(model).judge(PREMISES[:1])
    YesNoEntailment(model, prompt="minicheck")
    assert model.model.get_output_embeddings().weight.shape[0] == rows > 2
    assert YesNoEntailment(model).judge(PREMISES[:1]) == first


@pytest.mark.parametrize("name", SEQ2SEQ)
def test_yes_no_does_not_depend_on_batches(loaded: Load, name: str) -> None:
    pairs = [(chunk[:150], sentence) for chunk, sentence in PREMISES]
    model = loaded(name)
    alone = [YesNoEntailment(model).judge([pair])[0].entailment for pair in pairs]
    for batch_size in (1, 2, 16):
        backbone = YesNoEntailment(model, batch_size=batch_size)
        assert [v.entailment for v in backbone.judge(pairs)] == pytest.approx(alone, abs=1e-5)
        assert [v.entailment for v in backbone.judge(pairs[::-1])] == pytest.approx(
            alone[::-1], abs=1e-5
        )


@pytest.mark.parametrize("name", sorted(PROMPTS))
def test_placeholders_in_texts_mean_nothing(name: str) -> None:
    before, between, after = PROMPTS[name].parts()
    chunk, sentence = "{sentence} {chunk} {0} %s", "{chunk} {"
    assert PROMPTS[name].fill(chunk, sentence) == before + chunk + between + sentence + after


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{chunk}",
        "{sentence} {chunk}",
        "{chunk} {chunk} {sentence}",
        "{chunk} {sentence} {sentence}",
    ],
)
def test_malformed_prompts_are_refused(loaded: Load, text: str) -> None:
    with pytest.raises(InputError, match="once each"):
        YesNoEntailment(loaded("t5/tied"), prompt=Prompt(text, "Yes", "No"))


def test_scale_prompt_is_the_papers() -> None:
    assert PROMPTS["scale"].fill("A dog.", "It is.") == (
        'A dog. Question: does this imply "It is."? Yes or no?'
    )


def test_minicheck_answers_are_those_of_its_code(loaded: Load) -> None:
    # T5 writes "0" as a blank and a digit, "1" as one token: MiniCheck reads 3 and 209.
    model = loaded("t5/tied")
    yes, no = answer_ids(model, PROMPTS["minicheck"])
    assert model.tokenizer.convert_ids_to_tokens([yes, no]) == ["▁1", "▁"]


class WithBos:
    """A tokenizer that puts a BOS before everything, whatever it is asked for."""

    all_special_ids = (9,)

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": [9] + [ord(letter) for letter in text]}


def test_bos_is_not_an_answer() -> None:
    model = Loaded("bos", WithBos(), None, "cpu")
    assert answer_ids(model, PROMPTS["scale"]) == (ord("Y"), ord("N"))
    with pytest.raises(ModelError, match="same token"):
        answer_ids(model, Prompt("{chunk}{sentence}", "Yes", "Yep"))
    with pytest.raises(ModelError, match="lacks"):
        answer_ids(model, Prompt("{chunk}{sentence}", "Yes", ""))


def test_a_long_chunk_is_read_in_windows(loaded: Load) -> None:
    backbone = YesNoEntailment(loaded("t5/tied"), max_length=64)
    whole = YesNoEntailment(loaded("t5/tied"), max_length=4096)
    prompts = backbone._windows(LONG, "A cat.")
    assert len(prompts) > 3
    assert all(len(row["input_ids"]) <= 64 for row in backbone._rows(prompts))
    assert all(text.endswith('imply "A cat."? Yes or no?') for text in prompts)
    chunks = [text.split(" Question:")[0] for text in prompts]
    assert LONG.startswith(chunks[0])
    assert LONG.strip().endswith(chunks[-1])
    best = max(v.entailment for v in whole.judge([(chunk, "A cat.") for chunk in chunks]))
    assert backbone.judge([(LONG, "A cat.")])[0].entailment == pytest.approx(best, abs=1e-5)
    assert whole.batches.usage.rows == len(set(chunks))
    whole.judge([(LONG, "A cat.")])
    assert whole.batches.usage.rows == len(set(chunks)) + 1


def test_special_tokens_in_texts_mean_nothing(loaded: Load) -> None:
    backbone = YesNoEntailment(loaded("t5/tied"), prompt="minicheck")
    (part,) = backbone._clean([("a</s>b <pad>", "c</s>")])
    text = PROMPTS["minicheck"].fill(*part)
    assert text.count("</s>") == 1
    assert "<pad>" not in text


def test_long_sentences_leave_room_for_the_chunk(loaded: Load) -> None:
    backbone = YesNoEntailment(loaded("t5/tied"), max_length=64)
    (verdict,) = backbone.judge([(LONG, LONG)])
    assert 0.0 < verdict.entailment < 1.0


# --- questions --------------------------------------------------------------------------

RESPONSE = "The dog sleeps and the dog runs in Paris."


def span(text: str, nth: int = 0, response: str = RESPONSE) -> Span:
    start = -1
    for _ in range(nth + 1):
        start = response.index(text, start + 1)
    return Span(Example(response, ""), text, start)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models rarely end a question by themselves; 128 tokens take long."""
    monkeypatch.setattr(torch_questions, "MAX_QUESTION", 16)


SPANS = [span("dog"), span("dog", 1), span("Paris"), span("The dog")]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("answer-context", f"answer: dog  context: {RESPONSE}"),
        ("highlight", "generate question: The dog sleeps and the <hl> dog <hl> runs in Paris."),
        (
            "highlight-spaced",
            "generate question: The dog sleeps and the  <hl> dog <hl>  runs in Paris.",
        ),
    ],
)
def test_templates(loaded: Load, template: str, expected: str) -> None:
    assert TEMPLATES[template](RESPONSE, 23, 26) == expected
    assert Seq2SeqQuestions(loaded("t5/tied"), template=template)._input(SPANS[1]) == expected


def test_a_span_that_is_elsewhere_is_still_asked_about(loaded: Load) -> None:
    model = Seq2SeqQuestions(loaded("t5/tied"), template="highlight")
    assert "<hl> dog <hl> sleeps" in model._input(Span(Example(RESPONSE, ""), "dog", 39))
    assert "<hl> cat <hl> The dog" in model._input(Span(Example(RESPONSE, ""), "cat", 3))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", ["t5/tied", "t5/untied"])
def test_beam_agrees_with_transformers(loaded: Load, name: str) -> None:
    model = loaded(name)
    generator = Seq2SeqQuestions(model, template="answer-context", batch_size=3)
    found = generator.generate(SPANS)
    encoded = model.tokenizer(f"answer: Paris  context: {RESPONSE}", return_tensors="pt")
    output = model.model.generate(
        input_ids=encoded["input_ids"],
        attention_mask=encoded["attention_mask"],
        num_beams=5,
        num_return_sequences=5,
        no_repeat_ngram_size=3,
        max_length=16,
        early_stopping=True,
        do_sample=False,
    )
    expected = clean(model.tokenizer.batch_decode(output, skip_special_tokens=True))
    assert found[2] == expected
    for questions in found:
        assert 1 <= len(questions) <= 5
        assert len(set(questions)) == len(questions)
        assert not any("<pad>" in text or "</s>" in text for text in questions)


@pytest.mark.usefixtures("short")
def test_beam_batches_equal_single_spans(loaded: Load) -> None:
    model = loaded("t5/untied")
    together = Seq2SeqQuestions(model, batch_size=4).generate(SPANS)
    alone = [Seq2SeqQuestions(model).generate([item])[0] for item in SPANS]
    assert together == alone


@pytest.mark.usefixtures("short")
def test_greedy_gives_one_question(loaded: Load) -> None:
    model = loaded("t5/untied")
    found = Seq2SeqQuestions(model, decoding="greedy").generate(SPANS)
    assert [len(questions) for questions in found] == [1] * len(SPANS)


@pytest.mark.usefixtures("short")
def test_samples_depend_on_seed_and_text_only(loaded: Load) -> None:
    model = loaded("t5/untied")

    def ask(spans: Sequence[Span], seed: int) -> list[list[str]]:
        return Seq2SeqQuestions(model, decoding="sample", seed=seed, batch_size=3).generate(spans)

    all_at_once = ask(SPANS, 7)
    torch.manual_seed(123)
    assert ask(SPANS[::-1], 7) == all_at_once[::-1]
    assert ask(SPANS[2:3], 7) == all_at_once[2:3]
    assert ask(SPANS, 8) != all_at_once
    assert len(all_at_once[0]) == 5


@pytest.mark.usefixtures("short")
def test_sampling_leaves_the_callers_random_numbers_alone(loaded: Load) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    Seq2SeqQuestions(loaded("t5/tied"), decoding="sample").generate(SPANS[:1])
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("texts", "questions"),
    [
        (["question: Who runs?", "Who runs?"], ["Who runs?"]),
        (["b", "a", "b"], ["b", "a"]),
        (["question:", "  ", ""], []),
        (["A question: who?"], ["A question: who?"]),
    ],
)
def test_clean(texts: list[str], questions: list[str]) -> None:
    assert clean(texts) == questions


@pytest.mark.parametrize("template", sorted(TEMPLATES))
def test_a_long_response_is_cut_around_its_span(loaded: Load, template: str) -> None:
    model = loaded("t5/tied")
    response = "the red dog sleeps . " * 100 + "Paris is big . " + "the cat runs . " * 100
    generator = Seq2SeqQuestions(model, template=template, max_input=64)
    text = generator._input(span("Paris", response=response))
    ids = model.tokenizer(text)["input_ids"]
    assert 50 < len(ids) <= 64
    assert "sleeps" in text
    assert "Paris" in text
    assert "runs" in text


@given(st.integers(1, 30), st.data())
def test_around_keeps_the_span(count: int, data: st.DataObject) -> None:
    offsets = [(2 * i, 2 * i + 1) for i in range(count)]
    first = data.draw(st.integers(0, count - 1))
    last = data.draw(st.integers(first, count - 1))
    limit = data.draw(st.integers(last - first + 1, 40))
    lo, hi = around(offsets, 2 * first, 2 * last + 1, limit)
    if count <= limit:
        assert (lo, hi) == (0, 0)
    else:
        assert lo <= 2 * first
        assert hi >= 2 * last + 1
        assert sum(lo <= left and right <= hi for left, right in offsets) == limit


def test_marks_in_the_response_mean_nothing(loaded: Load) -> None:
    response = "The <hl> dog </s> runs."
    text = Seq2SeqQuestions(loaded("t5/tied"), template="highlight")._input(
        span("dog", response=response)
    )
    assert text.count("<hl>") == 2
    assert "<hl> dog <hl>" in text
    assert "</s>" not in text


@pytest.mark.usefixtures("short")
def test_equal_inputs_are_generated_once(loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Seq2SeqQuestions(loaded("t5/tied"), template="answer-context", decoding="greedy")
    sizes: list[int] = []
    generate = generator._generate
    monkeypatch.setattr(
        generator, "_generate", lambda texts: (sizes.append(len(texts)), generate(texts))[1]
    )
    first, second, *_ = generator.generate(SPANS)
    assert sizes == [3]
    assert first == second
    assert first is not second


def test_no_spans_no_questions(loaded: Load) -> None:
    assert Seq2SeqQuestions(loaded("t5/tied")).generate([]) == []
    assert TorchReader(loaded("bert/qa")).read([]) == []
    assert TorchNli(loaded("bert/nli")).judge([]) == []
    assert YesNoEntailment(loaded("t5/tied")).judge([]) == []


def test_template_by_tokenizer(tmp_path: Path, loaded: Load) -> None:
    assert Seq2SeqQuestions(loaded("t5/tied")).template == "highlight"
    plain = str(t5(tmp_path / "plain"))
    assert Seq2SeqQuestions(load(Seq2SeqQuestions, plain)).template == "answer-context"
    with pytest.raises(ModelError, match="<hl>"):
        Seq2SeqQuestions(load(Seq2SeqQuestions, plain), template="highlight")


@pytest.mark.parametrize(
    "wrong", [{"decoding": "best"}, {"template": "none"}], ids=["decoding", "template"]
)
def test_unknown_settings_are_refused(loaded: Load, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="unknown"):
        Seq2SeqQuestions(loaded("t5/tied"), **wrong)


# --- loading ----------------------------------------------------------------------------


def test_devices_and_dtypes() -> None:
    assert loading.resolve_device("cpu") == "cpu"
    assert loading.resolve_device("auto") in ("cpu", "cuda", "mps")
    assert loading.resolve_dtype("bfloat16") is torch.bfloat16
    for device in ("gpu", "cuda:x", "cuda:99"):
        with pytest.raises(InputError, match="device"):
            loading.resolve_device(device)
    with pytest.raises(InputError, match="dtype"):
        loading.resolve_dtype("int8")


def test_bfloat16_is_close(folders: Folders) -> None:
    exact = TorchNli(load(TorchNli, str(folders("bert/nli")))).judge(PREMISES[:2])
    model = TorchNli(load(TorchNli, str(folders("bert/nli")), dtype="bfloat16"))
    assert model._loaded.model.dtype is torch.bfloat16
    for rough, fine in zip(model.judge(PREMISES[:2]), exact, strict=True):
        assert rough.entailment == pytest.approx(fine.entailment, abs=0.05)


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r'pip install "q2-metric\[torch\]"'):
        loading.load_config("google/flan-t5-base")
    with pytest.raises(MissingExtra):
        load(TorchReader, "a/b")


def test_a_model_for_another_task_is_refused(folders: Folders) -> None:
    with pytest.raises(ModelError, match="not trained for AutoModelForSequenceClassification"):
        TorchNli(load(TorchNli, str(folders("bert/qa"))))
    with pytest.raises(ModelError, match="qa_outputs"):
        TorchReader(load(TorchReader, str(folders("roberta/nli"))))


def test_an_encoder_cannot_write_questions(folders: Folders) -> None:
    with pytest.raises(ModelError) as caught:
        Seq2SeqQuestions(load(Seq2SeqQuestions, str(folders("bert/qa"))))
    assert "\n" not in str(caught.value)


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        TorchReader(load(TorchReader, str(tmp_path / "nothing")))
    with pytest.raises(ModelError, match=r"no config\.json"):
        TorchReader(load(TorchReader, str(tmp_path)))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError) as caught:
        TorchReader(load(TorchReader, str(tmp_path)))
    assert "\n" not in str(caught.value)


def test_an_unreachable_hub_names_the_offline_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="'bundled', which needs no network") as caught:
        TorchNli(load(TorchNli, "nobody/no-such-model-at-all"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("GatedRepoError", "accept its terms"),
        ("RepositoryNotFoundError", "no such model"),
        ("ConnectError", "cannot be reached"),
        ("Surprise", "Surprise: first line"),
    ],
)
def test_causes_become_one_line(kind: str, expected: str) -> None:
    cause = type(kind, (Exception,), {})("first line\nsecond line")
    with pytest.raises(ModelError) as caught, loading._errors_about("a/b"):
        raise cause
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("a/b: ")
    assert caught.value.__cause__ is cause


def test_a_tokenizers_missing_package_is_named() -> None:
    with pytest.raises(MissingExtra, match="sentencepiece"), loading._errors_about("a/b"):
        raise ImportError("T5Tokenizer requires the SentencePiece library")


def test_safetensors_are_preferred_to_pickles(tmp_path: Path) -> None:
    folder = encoder(tmp_path / "m", "bert", NLI, id2label=THREE)
    (folder / "pytorch_model.bin").write_bytes(b"not a checkpoint")
    verdict = TorchNli(load(TorchNli, str(folder))).judge(PREMISES[:1])
    from safetensors.torch import load_file

    weights = load_file(folder / "model.safetensors")
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert TorchNli(load(TorchNli, str(folder))).judge(PREMISES[:1]) == verdict


def test_loading_is_silent(folders: Folders, capfd: pytest.CaptureFixture[str]) -> None:
    folder = str(folders("bert/nli"))
    capfd.readouterr()
    TorchNli(load(TorchNli, folder)).judge(PREMISES)
    assert capfd.readouterr() == ("", "")


def test_a_batch_size_below_one_is_refused(loaded: Load) -> None:
    with pytest.raises(InputError, match="batch_size"):
        TorchNli(loaded("bert/nli"), batch_size=0).judge(PREMISES)


def test_windows_of_the_models(loaded: Load) -> None:
    for kind in ENCODERS:
        assert tokens.window_size(loaded(f"{kind}/qa")) == 64
    assert tokens.window_size(loaded("t5/tied")) == 512


def test_not_a_number_is_an_error(tmp_path: Path) -> None:
    def broken(vocabulary: Any, ids: torch.Tensor) -> Any:
        scores = torch.full(ids.shape, float("nan"))
        return SimpleNamespace(start_logits=scores, end_logits=scores)

    with pytest.raises(ModelError, match="not finite"):
        TorchReader(scripted(tmp_path, broken)).read([("who?", "a dog")])


@pytest.mark.parametrize("decoding", ["beam", "greedy", "sample"])
def test_questions_of_a_model_without_numbers_are_an_error(tmp_path: Path, decoding: Any) -> None:
    model = load_pretrained("AutoModelForSeq2SeqLM", str(t5(tmp_path / "nan")), "cpu")
    with torch.no_grad():
        model.model.get_encoder().final_layer_norm.weight.fill_(float("nan"))
    with pytest.raises(ModelError, match="not finite"):
        Seq2SeqQuestions(model, decoding=decoding).generate(SPANS[:2])
