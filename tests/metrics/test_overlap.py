from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from fakes import FakeEntailment

from q2_metric.errors import InputError, MissingExtra, ModelError
from q2_metric.metrics import load_metrics
from q2_metric.metrics.bertscore import BertScore
from q2_metric.metrics.nli import EndToEndNli
from q2_metric.metrics.overlap import Bleu, OverlapF1, TokenF1, corpus_bleu
from q2_metric.metrics.signature import parse
from q2_metric.types import Example, Metric, Verdict


@pytest.mark.parametrize(
    ("response", "knowledge", "value"),
    [
        # capital peru is lima / lima is capital: precision 3/4, recall 3/3.
        ("The capital in Peru is Lima.", "Lima is our capital", 6 / 7),
        # A word counts as often as both have it: 1 of 3 and 1 of 1.
        ("no no no", "no", 2 * (1 / 3) / (4 / 3)),
        ("lima", "quito", 0.0),
        ("the", "the", 0.0),
    ],
)
def test_token_f1(response: str, knowledge: str, value: float) -> None:
    (score,) = TokenF1().score([Example(response, knowledge)])
    assert score.value == pytest.approx(value)
    assert score.evidence == ()


@pytest.mark.parametrize(
    ("response", "knowledge", "value"),
    [
        # "is", "the", "in" and the stop are left out: lima peru / peru lima quito.
        ("Lima is in Peru.", "peru: Lima, Quito", 4 / 5),
        ("the dog", "the cat", 0.0),
        ("it is", "it is", 0.0),
    ],
)
def test_overlap_of_the_paper(response: str, knowledge: str, value: float) -> None:
    (score,) = OverlapF1().score([Example(response, knowledge)])
    assert score.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("response", "knowledge", "value"),
    [
        # 5/6, 3/5, 2/4 and 1/3 of the n-grams are found; as long as the reference.
        (
            "the cat sat on the mat",
            "the cat sat on a mat",
            (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4),
        ),
        # Two words have no 3-grams: effective order 2; brevity e^(1 - 4/2).
        ("the cat", "the cat sat on", math.exp(-1)),
        ("cat", "cat", 1.0),
        ("dog", "cat", 0.0),
        ("it runs in lima", "It runs in Lima", 1.0),
    ],
)
def test_bleu(response: str, knowledge: str, value: float) -> None:
    (score,) = Bleu().score([Example(response, knowledge)])
    assert score.value == pytest.approx(value)


def test_bleu_keeps_order_and_stays_under_one() -> None:
    examples = [Example("dog", "cat"), Example("a b c d e", "a b c d e"), Example("cat", "cat")]
    assert [score.value for score in Bleu().score(examples)] == [0.0, 1.0, 1.0]


def test_corpus_bleu_counts_all_responses_together() -> None:
    said = ["the cat sat on the mat", "it rains a lot here"]
    known = ["the cat sat on a mat", "it rains a lot here"]
    # n-grams found: 5+5 of 6+5, 3+4 of 5+4, 2+3 of 4+3, 1+2 of 3+2.
    wanted = (10 / 11 * 7 / 9 * 5 / 7 * 3 / 5) ** (1 / 4)
    assert corpus_bleu(said, known) == pytest.approx(wanted)
    assert corpus_bleu([], []) == 0.0
    assert corpus_bleu(said, said) == 1.0


def test_bleu_signature_carries_sacrebleus() -> None:
    name, settings = parse(Bleu().signature)
    assert name == "knowledge_bleu"
    assert {"case", "tok", "smooth", "sacrebleu"} <= settings.keys()
    assert (settings["nrefs"], settings["eff"]) == ("1", "yes")
    assert list(settings)[-1] == "version"


def test_end_to_end_nli() -> None:
    judged = FakeEntailment(
        {
            ("k1", "r1"): "entailment",
            ("k2", "r2"): "neutral",
            ("k3", "r3"): "contradiction",
            ("k4", "r4"): Verdict(0.4, 0.4, 0.2),  # the earlier of equals
        }
    )
    metric = EndToEndNli(judged, preset="fake")
    scores = metric.score([Example(f"r{i}", f"k{i}") for i in (1, 2, 3, 4)])
    assert [score.value for score in scores] == [1.0, 0.5, 0.0, 1.0]
    assert scores[2].verdict == Verdict(0.1, 0.2, 0.7)
    assert not any(score.fallback for score in scores)
    assert judged.calls == 1
    assert judged.asked[0] == ("k1", "r1")  # premise first: the knowledge
    assert metric.signature.startswith("nli|preset:fake|nli:fake-nli|version:")


def test_load_metrics_without_a_model() -> None:
    names = ["knowledge_bleu", "knowledge_f1"]
    loaded = load_metrics(names, device="cpu", dtype="float32", batch_size=4)
    assert [metric.name for metric in loaded] == names
    assert all(isinstance(metric, Metric) for metric in loaded)
    with pytest.raises(InputError, match="no metric 'rouge'"):
        load_metrics(["knowledge_f1", "rouge"])


def test_bertscore_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(MissingExtra, match=r'pip install "q2-metric\[bertscore\]"'):
        BertScore("any")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with random weights that reads 32 tokens; its tokenizer states no limit."""
    pytest.importorskip("bert_score", reason="needs the extra bertscore")
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import BertWordPieceTokenizer

    folder = tmp_path_factory.mktemp("encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", "cat", "runs"]
    vocabulary = dict(zip(words, range(len(words)), strict=True))
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=BertWordPieceTokenizer(vocabulary)._tokenizer,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_bertscore_with_a_local_encoder(encoder: Path) -> None:
    metric = BertScore(str(encoder), device="cpu", batch_size=2)
    scores = metric.score(
        [
            Example("the dog runs", "the cat"),
            Example("the dog runs", "the dog runs"),
            Example(" ", "the cat"),
            Example("thanks!", "the cat"),
            Example("the dog runs to the cat . " * 20, "the cat"),  # too long for it
        ]
    )
    values = [score.value for score in scores]
    assert values[1] == pytest.approx(1.0)
    assert (values.pop(2), scores[2].reason) == (None, "empty")
    assert (values.pop(2), scores[3].reason) == (None, "no_claim"), "as in every shell"
    assert all(value is not None and 0 <= value <= 1 for value in values)
    assert values[0] is not None
    assert values[0] < 0.999
    assert parse(metric.signature)[1]["layer"] == "2"


@pytest.mark.slow
def test_bertscore_with_an_encoder_that_is_not_there(encoder: Path) -> None:
    with pytest.raises(ModelError, match="cannot use the encoder"):
        BertScore(str(encoder / "nowhere"))


@pytest.mark.slow
def test_bertscore_is_rescaled_if_there_is_a_baseline(
    encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import bert_score

    examples = [Example("the dog runs", "the cat"), Example("THE DOG", "the dog")]
    plain = BertScore(str(encoder), device="cpu").score(examples)
    table = encoder / "rescale_baseline" / "en" / f"{encoder.name}.tsv"
    table.parent.mkdir(parents=True)
    table.write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n1,0.2,0.2,0.2\n2,0.3,0.3,0.5\n")
    for module in (bert_score, bert_score.scorer):
        monkeypatch.setattr(module, "__file__", str(encoder / "bert_score.py"))
    monkeypatch.chdir(encoder.parent)
    metric = BertScore(encoder.name, device="cpu")
    assert parse(metric.signature)[1]["rescale"] == "yes"
    for score, before in zip(metric.score(examples), plain, strict=True):
        assert score.value == pytest.approx(max(0.0, (before.value - 0.5) / 0.5), abs=1e-5)
    assert plain[1].value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("response", "wanted"),
    [
        ("Ross painted a river.", 1.0),
        ("The river was painted by him.", 1.0),  # function words do not count
        ("Ross paints rivers.", 1.0),  # by their stems
        ("Ross painted in 1991.", 2 / 3),
        ("A cat sleeps.", 0.0),
        ("Ox x 7, Bob 1994.", 1 / 2),  # of two letters and all digits, and no single letter
        ("It is not so, you know.", 0.0),
        ("He was in it.", None),
        (":::", None),
    ],
)
def test_share_of_content_words(response: str, wanted: float | None) -> None:
    (metric,) = load_metrics(["word_share"])
    (score,) = metric.score([Example(response, "Bob Ross painted a river in 1994.")])
    assert score.value == (wanted if wanted is None else pytest.approx(wanted))
    assert metric.signature.startswith("word_share|version:")
