"""Yes/No entailment: prompts, the two rows of the head, windows."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")


import torch
from hub_models import LONG, PREMISES, Folders, Load

from q2_metric.errors import ModelError
from q2_metric.models.hub.loading import LoadedModel, load_pretrained
from q2_metric.models.hub.yes_no import PROMPTS, Prompt, YesNoEntailment, answer_ids

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
    model = LoadedModel("bos", WithBos(), None, "cpu")
    assert answer_ids(model, PROMPTS["scale"]) == (ord("Y"), ord("N"))
    with pytest.raises(ModelError, match="same token"):
        answer_ids(model, Prompt("{chunk}{sentence}", "Yes", "Yep"))
    with pytest.raises(ModelError, match="lacks"):
        answer_ids(model, Prompt("{chunk}{sentence}", "Yes", ""))


def test_a_long_chunk_is_read_in_windows(
    loaded: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone = YesNoEntailment(loaded("t5/tied"), max_length=64)
    whole = YesNoEntailment(loaded("t5/tied"), max_length=4096)
    prompts = backbone._windows(LONG, "A cat.")
    assert len(prompts) > 3
    assert all(len(row["input_ids"]) <= 64 for row in backbone.batches.encode(prompts))
    assert all(text.endswith('imply "A cat."? Yes or no?') for text in prompts)
    chunks = [text.split(" Question:")[0] for text in prompts]
    assert LONG.startswith(chunks[0])
    assert LONG.strip().endswith(chunks[-1])
    best = max(v.entailment for v in whole.judge([(chunk, "A cat.") for chunk in chunks]))
    assert backbone.judge([(LONG, "A cat.")])[0].entailment == pytest.approx(best, abs=1e-5)
    rows, run = list[object](), whole.batches.run
    monkeypatch.setattr(whole.batches, "run", lambda new, call: rows.extend(new) or run(new, call))
    whole.judge([(LONG, "A cat.")])
    assert len(rows) == 1


def test_special_tokens_in_texts_mean_nothing(
    loaded: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone = YesNoEntailment(loaded("t5/tied"), prompt="minicheck")
    prompts, rows = list[str](), backbone.batches.encode
    monkeypatch.setattr(
        backbone.batches, "encode", lambda texts: prompts.extend(texts) or rows(texts))
    backbone.judge([("a</s>b <pad>", "c</s>")])
    (text,) = prompts
    assert text.count("</s>") == 1
    assert "<pad>" not in text


def test_long_sentences_leave_room_for_the_chunk(loaded: Load) -> None:
    backbone = YesNoEntailment(loaded("t5/tied"), max_length=64)
    (verdict,) = backbone.judge([(LONG, LONG)])
    assert 0.0 < verdict.entailment < 1.0
