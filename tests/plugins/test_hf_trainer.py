"""Q² in a real ``Trainer``: a tiny encoder-decoder learns grounded answers by heart."""

from __future__ import annotations

import html
import json
import logging
import math
import os
import re
import runpy
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fakes import FakeMetric

from q2_metric import Q2, Example, InputError, Scale
from q2_metric.cli.main import main
from q2_metric.text.normalise import token_f1
from q2_metric.types import Score

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

FACTS = [
    ("the tower", "1887", "france"), ("the museum", "1903", "spain"),
    ("the bridge", "1932", "australia"), ("the stadium", "1958", "brazil"),
    ("the library", "1795", "ireland"), ("the theatre", "1841", "poland"),
]
ROWS = [
    {
        "prompt": f"when was {name} opened ?",
        "knowledge": f"The history is long. {name.capitalize()} in {place} was opened in {year}.",
        "reference": f"it was opened in {year} .",
    }
    for name, year, place in FACTS
]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    texts = [row[key] for row in ROWS for key in ("prompt", "reference")]
    words = ["<pad>", "</s>", "<unk>", *dict.fromkeys(w for t in texts for w in t.split())]
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        model_max_length=64)


def seq2seq(tokenizer: Any) -> Any:
    torch.manual_seed(0)
    return transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2,
        dropout_rate=0.0, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0))


def encoded(tokenizer: Any) -> list[dict[str, list[int]]]:
    return [
        {"input_ids": tokenizer(row["prompt"])["input_ids"],
         "labels": tokenizer(row["reference"])["input_ids"]}
        for row in ROWS
    ]


def make_trainer(tokenizer: Any, folder: Path, *, model: Any = None, **arguments: Any) -> Any:
    defaults: dict[str, Any] = {
        "output_dir": str(folder), "report_to": [], "use_cpu": True, "disable_tqdm": True,
        "per_device_train_batch_size": 3, "per_device_eval_batch_size": 4,
        "generation_max_length": 12, "seed": 1,
    }
    model = model or seq2seq(tokenizer)
    return transformers.Seq2SeqTrainer(
        model=model,
        args=transformers.Seq2SeqTrainingArguments(**defaults | arguments),
        train_dataset=encoded(tokenizer), eval_dataset=encoded(tokenizer),
        data_collator=transformers.DataCollatorForSeq2Seq(tokenizer, model=model),
        processing_class=tokenizer,
    )


def callback(trainer: Any, **keywords: Any) -> Any:
    from q2_metric.integrations.trainer import Q2Callback

    found = Q2Callback(trainer, ROWS, **keywords)
    trainer.add_callback(found)
    return found


def generated(own: Any) -> list[str]:
    found: list[str] = own.respond(own.trainer.model, [row.prompt for row in own.rows])
    return found


@pytest.mark.parametrize(("strategy", "never"), [("no", True), ("epoch", False)])
def test_a_training_that_never_evaluates_is_warned_of(
    tokenizer: Any, tmp_path: Path, caplog: Any, strategy: str, never: bool
) -> None:
    trainer = make_trainer(
        tokenizer, tmp_path, max_steps=1, save_strategy="no", eval_strategy=strategy)
    own = callback(trainer, metrics=["word_share"])
    trainer.train()
    warned = [line for line in caplog.messages if "no evaluation is scheduled" in line]
    assert len(warned) == never
    assert all('so eval_word_share and the like will not be logged: set eval_strategy="epoch"'
               in line for line in warned)
    assert bool(own.responses) is not never


def test_each_evaluation_is_kept(tokenizer: Any, tmp_path: Path, caplog: Any) -> None:
    """As files that q2 report and q2 compare read, with the scores that were logged."""
    runs = tmp_path / "new" / "runs"
    trainer = make_trainer(tokenizer, tmp_path, max_steps=60, eval_steps=20, eval_strategy="steps",
                           save_strategy="no", learning_rate=1e-2)
    own = callback(trainer, metrics=["groundedness"], out=runs)
    trainer.train()
    files = sorted(path.name for path in runs.glob("*.jsonl"))
    assert files == ["step-20.jsonl", "step-40.jsonl", "step-60.jsonl"]
    logged = {entry["step"]: entry for entry in trainer.state.log_history
              if "eval_groundedness" in entry}
    last = [json.loads(line) for line in (runs / files[-1]).read_text("utf-8").splitlines()]
    assert [row["response"] for row in last] == own.responses
    assert last[0]["other"] == {key: ROWS[0][key] for key in ("prompt", "reference")}
    assert "claims" in last[0]
    values = [row["groundedness"] or 0 for row in last]
    assert sum(values) / len(values) == pytest.approx(logged[60]["eval_groundedness"])

    page = tmp_path / "report.html"
    drawn = CliRunner().invoke(main, ["report", str(runs), "-o", str(page)])
    assert drawn.exit_code == 0, drawn.output
    text = page.read_text("utf-8")
    assert "By checkpoint" in text
    assert text.count(own.metrics[0].signature.split("|")[1]) >= 3
    table = CliRunner().invoke(main, ["compare", *(str(runs / name) for name in files[1:]),
                                      "--format", "json"])
    assert table.exit_code == 0, table.output
    f1, bleu = json.loads(table.stdout)["tables"][0]["rows"][1][2:4]
    assert f1["value"] == pytest.approx(logged[60]["eval_f1"])
    assert bleu["value"] == pytest.approx(logged[60]["eval_bleu"])
    kept = (runs / files[-1]).read_bytes()
    own.respond = lambda model, prompts: ["other"] * len(prompts)
    trainer.evaluate()  # the same step again, perhaps with the best checkpoint
    assert sorted(path.name for path in runs.glob("*.jsonl")) == files
    assert (runs / files[-1]).read_bytes() == kept
    assert "this one, outside of training, is not kept" in caplog.text
    own.prefix = "test_"
    trainer.evaluate()
    assert (runs / "test-step-60.jsonl").exists()
    (runs / "test-step-60.jsonl").unlink()
    caplog.clear()
    callback(trainer, metrics=["groundedness"], out=runs)
    assert sum("has 3 evaluations of an earlier training" in line for line in caplog.messages) == 1


def test_a_misspelt_keyword_is_told(tokenizer: Any, tmp_path: Path) -> None:
    trainer = make_trainer(tokenizer, tmp_path, max_steps=1)
    with pytest.raises(InputError, match=r"unknown keyword 'outt'; did you mean 'out'\?"):
        callback(trainer, metrics=["word_share"], outt=tmp_path)


def test_a_callback_of_another_trainer_is_refused(tokenizer: Any, tmp_path: Path) -> None:
    """As in a notebook where only the cell of the trainer is run again."""
    old = callback(make_trainer(tokenizer, tmp_path, max_steps=1), metrics=["word_share"])
    trainer = make_trainer(tokenizer, tmp_path, max_steps=1)
    trainer.add_callback(old)
    with pytest.raises(InputError, match="this callback was made for another trainer"):
        trainer.train()


def test_prompts_that_lose_their_beginning_are_counted(
    tokenizer: Any, tmp_path: Path, caplog: Any,
) -> None:
    trainer = make_trainer(tokenizer, tmp_path, max_steps=1)
    callback(trainer, metrics=["word_share"], max_prompt_length=3)
    [said] = [line for line in caplog.messages if "lose their beginning" in line]
    assert said.startswith(f"{len(ROWS)} of {len(ROWS)} prompts have 3 tokens or more")


def test_a_place_that_cannot_hold_runs_is_refused_before_the_training(
    tokenizer: Any, tmp_path: Path,
) -> None:
    trainer = make_trainer(tokenizer, tmp_path, max_steps=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file: .*; name a folder in out"):
        callback(trainer, metrics=["word_share"], out=tmp_path / "file")
    empty = tmp_path / "empty"
    callback(trainer, metrics=["word_share"], out=empty)
    done = CliRunner().invoke(main, ["report", str(empty)])
    assert done.exit_code == 2
    assert "this folder contains no .jsonl file" in done.output


def test_a_run_logs_and_keeps_the_best_checkpoint(tokenizer: Any, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    os.environ["TENSORBOARD_LOGGING_DIR"] = str(tmp_path / "events")
    try:
        trainer = make_trainer(
            tokenizer, tmp_path, report_to=["tensorboard"], max_steps=120, eval_steps=40,
            save_steps=40, eval_strategy="steps", save_strategy="steps", logging_steps=40,
            learning_rate=1e-2, gradient_accumulation_steps=2, generation_num_beams=2,
            load_best_model_at_end=True, metric_for_best_model="eval_q2", greater_is_better=True,
        )
        own = callback(trainer)
        trainer.train()
    finally:
        os.environ.pop("TENSORBOARD_LOGGING_DIR")

    logged = [entry for entry in trainer.state.log_history if "eval_q2" in entry]
    assert [entry["step"] for entry in logged] == [40, 80, 120]
    assert set(logged[0]) >= {
        "eval_q2", "eval_q2_no_nli", "eval_coverage", "eval_fallback", "eval_no_answer_rate",
        "eval_no_claim", "eval_scale",
        "eval_f1", "eval_bleu", "eval_empty"}
    values = [entry["eval_q2"] for entry in logged]
    best = max(v for v in values if not math.isnan(v))
    assert trainer.state.best_metric == pytest.approx(best)
    at_best = logged[values.index(best)]["step"]
    assert trainer.state.best_model_checkpoint.endswith(f"checkpoint-{at_best}")
    assert best > 0.9
    assert logged[-1]["eval_f1"] > 0.9
    assert logged[-1]["eval_bleu"] > 0.8

    events = EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    assert [(e.step, pytest.approx(e.value)) for e in events.Scalars("eval/q2")] == list(
        zip([40, 80, 120], values, strict=True))
    assert len(events.Scalars("eval/scale")) == 3

    examples = [Example(said, row["knowledge"])
                for said, row in zip(own.responses, ROWS, strict=True)]
    wanted = [score.value for score in Q2.from_preset().score(examples)]
    assert logged[-1]["eval_q2"] == pytest.approx(sum(wanted) / len(wanted))
    wanted = [score.value for score in Scale.from_preset().score(examples)]
    assert logged[-1]["eval_scale"] == pytest.approx(sum(wanted) / len(wanted))
    assert logged[-1]["eval_f1"] == pytest.approx(sum(
        token_f1(said, row["reference"])
        for said, row in zip(own.responses, ROWS, strict=True)) / len(ROWS))


def test_evaluation_leaves_the_model_as_it_was(tokenizer: Any, tmp_path: Path) -> None:
    trainer = make_trainer(tokenizer, tmp_path)
    own = callback(trainer, metrics=("scale",), generation={"do_sample": True})
    model = trainer.model
    model.config.use_cache = False
    model.train()
    sides = tokenizer.padding_side, tokenizer.truncation_side
    torch.manual_seed(3)
    before = torch.get_rng_state()
    metrics: dict[str, float] = {"eval_loss": 1.0}
    own.on_evaluate(trainer.args, trainer.state, trainer.control, model=model, metrics=metrics)
    assert torch.equal(before, torch.get_rng_state())
    assert model.training
    assert model.config.use_cache is False
    assert (tokenizer.padding_side, tokenizer.truncation_side) == sides
    assert metrics.keys() - {"eval_loss"} == {
        "eval_scale", "eval_no_claim", "eval_f1", "eval_bleu", "eval_empty"}


def test_generation_keywords_win_over_the_trainers(tokenizer: Any, tmp_path: Path) -> None:
    config = transformers.GenerationConfig(
        max_length=9, pad_token_id=0, decoder_start_token_id=0, suppress_tokens=[0, 1, 2])
    trainer = make_trainer(
        tokenizer, tmp_path, generation_config=config, generation_max_length=None)
    lengths = []
    for generation in ({}, {"max_length": 4}):
        own = callback(trainer, metrics=("scale",), generation=generation)
        texts = generated(own)
        lengths.append(max(len(text.split()) for text in texts))
    assert lengths == [8, 3]  # without the start token


def test_a_decoder_answers_after_its_prompt(tokenizer: Any, tmp_path: Path) -> None:
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, pad_token_id=0, eos_token_id=1, max_position_embeddings=64))
    rows = [{"prompt": "when was the tower opened ? " * n, "knowledge": "It opened in 1887."}
            for n in (1, 3)]
    from q2_metric.integrations.trainer import Q2Callback

    trainer = make_trainer(tokenizer, tmp_path, model=model, generation_max_length=None)
    own = Q2Callback(trainer, rows, metrics=("scale",),
                     generation={"max_new_tokens": 5, "do_sample": False})
    together = generated(own)
    assert all(len(text.split()) <= 5 for text in together)
    for row, text in zip(own.rows, together, strict=True):
        own.rows = [row]
        assert generated(own) == [text]  # padding on the left changes nothing


def decoder(tokenizer: Any, **config: Any) -> Any:
    """Learnt positions: a token behind the last is an index error."""
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=64,
        pad_token_id=0, eos_token_id=1, bos_token_id=1, **config))


@pytest.mark.parametrize(("arguments", "generation", "longest", "room"), [
    ({"generation_max_length": 12}, {}, 12, 52),
    ({"generation_max_length": 12}, {"max_new_tokens": 5}, 5, 59),
    ({"generation_max_length": None}, {"max_length": 40}, 39, 39),
    ({"generation_max_length": None}, {}, 20, 44),
])
def test_a_decoders_prompt_leaves_room_for_the_response(
    tokenizer: Any, tmp_path: Path, caplog: Any, monkeypatch: Any, arguments: dict[str, Any],
    generation: dict[str, Any], longest: int, room: int,
) -> None:
    from q2_metric.integrations.trainer import Q2Callback

    monkeypatch.setattr(tokenizer, "model_max_length", 1000)  # the model's positions are fewer
    trainer = make_trainer(tokenizer, tmp_path, model=decoder(tokenizer), **arguments)
    rows = [{"prompt": prompt, "knowledge": "It opened in 1887."}
            for prompt in ("when was the tower opened ?", "when was the tower opened ? " * 40)]
    own = Q2Callback(trainer, rows, metrics="scale",
                     generation={"suppress_tokens": [0, 1]} | generation)
    assert own.respond.max_prompt_length == room
    lengths = [len(text.split()) for text in generated(own)]
    assert max(lengths) <= longest
    warned = [line for line in caplog.messages if "no setting limits the length" in line]
    assert len(warned) == (longest == 20)


def test_a_prompt_may_be_longer_than_the_tokenizers_length_where_the_model_reads_on(
    tokenizer: Any, tmp_path: Path
) -> None:
    """Relative positions have no end, so the tokenizer's length is only what is taken unasked."""
    from q2_metric.integrations.trainer import Q2Callback

    trainer = make_trainer(tokenizer, tmp_path)
    rows = [{"prompt": "when was the tower opened ? " * 40, "knowledge": "It opened in 1887."}]
    for asked, read in ((None, 64), (150, 150)):
        own = Q2Callback(trainer, rows, metrics="scale", max_prompt_length=asked)
        assert own.respond.max_prompt_length == read
        assert len(own.respond._ids(own.rows[0].prompt)) == read


def test_a_prompt_longer_than_the_models_positions_is_refused(
    tokenizer: Any, tmp_path: Path
) -> None:
    from q2_metric.integrations.trainer import Q2Callback

    trainer = make_trainer(tokenizer, tmp_path, model=decoder(tokenizer))
    with pytest.raises(InputError, match=r"max_prompt_length is 65, but .* at most \d\d$"):
        Q2Callback(trainer, ROWS, metrics="scale", max_prompt_length=65)


def test_a_chat_prompt_begins_once(tokenizer: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """The template writes the special tokens, so the tokenizer must add none."""
    from q2_metric.integrations.trainer import Q2Callback

    monkeypatch.setattr(tokenizer, "chat_template",
                        "{% for m in messages %}</s> {{ m['content'] }} {% endfor %}")
    model = decoder(tokenizer)
    seen: list[list[int]] = []
    generate = model.generate
    monkeypatch.setattr(model, "generate", lambda **keywords: seen.extend(
        keywords["input_ids"].tolist()) or generate(**keywords))
    turns = [{"role": "user", "content": "when was the tower opened ?"}]
    trainer = make_trainer(tokenizer, tmp_path, model=model)
    own = Q2Callback(trainer, [{"prompt": turns, "knowledge": "It opened in 1887."}],
                     metrics="scale")
    generated(own)
    end = tokenizer.eos_token_id
    assert [ids.count(end) for ids in seen] == [1]
    assert seen[0][0] == end


def test_nothing_said_scores_nothing(tokenizer: Any, tmp_path: Path) -> None:
    trainer = make_trainer(tokenizer, tmp_path)
    own = callback(trainer, generation={"max_length": 1})
    own.respond = lambda model, prompts: [""] * len(prompts)
    found = trainer.evaluate()
    assert (found["eval_q2"], found["eval_scale"]) == (0.0, 0.0)
    assert (found["eval_empty"], found["eval_no_claim"]) == (1.0, 1.0)
    assert "eval_no_answer_rate" not in found  # no question was asked
    assert found["eval_f1"] == 0.0
    own.no_claim = "exclude"
    assert math.isnan(trainer.evaluate()["eval_q2"])
    assert math.isnan(trainer.state.log_history[-1]["eval_q2"])


@pytest.mark.parametrize("shell", ["callback", "compute_metrics"])
def test_one_value_in_the_result_the_log_and_tensorboard(
    shell: str, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it must not choose the best checkpoint: the untrained model claims nothing."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from q2_metric.integrations.trainer import Q2ComputeMetrics

    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "events"))
    trainer = make_trainer(
        tokenizer, tmp_path, report_to=["tensorboard"], predict_with_generate=True, max_steps=1,
        eval_strategy="steps", eval_steps=1, save_strategy="steps", save_steps=1,
        load_best_model_at_end=True, metric_for_best_model="eval_q2", greater_is_better=True)
    if shell == "callback":
        callback(trainer)
    else:
        trainer.compute_metrics = Q2ComputeMetrics(tokenizer, [row["knowledge"] for row in ROWS])
    trainer.train()
    found = trainer.evaluate()
    [trained, asked] = [one for one in trainer.state.log_history if "eval_q2" in one]
    events = EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    names = ("q2", "q2_no_nli", "scale", "no_claim", "fallback", "coverage", "f1", "bleu", "empty")
    for name in names:
        shown = [event.value for event in events.Scalars(f"eval/{name}")]
        assert shown == pytest.approx([trained[f"eval_{name}"], asked[f"eval_{name}"]])
        assert found[f"eval_{name}"] == asked[f"eval_{name}"]
    assert (found["eval_q2"], found["eval_scale"], found["eval_no_claim"]) == (0.0, 0.0, 1.0)
    assert not any(math.isnan(value) for value in found.values())
    chosen = trainer.state.best_model_checkpoint is not None
    assert chosen is (shell == "compute_metrics")  # which does not know the trainer


MARKUP = "It was opened in 1066 | <b>*a*</b> `c` ."
"""Not in the knowledge, and full of signs that a table in Markdown must not read."""
COLUMNS = ["row", "groundedness", "prompt", "response", "worst claim"]


def logging_trainer(tokenizer: Any, folder: Path, to: str) -> tuple[Any, Any]:
    """A trainer whose model says one wrong thing, one right thing, and nothing."""
    trainer = make_trainer(tokenizer, folder, report_to=[to])
    own = callback(trainer, metrics=["groundedness"])
    right = [row["knowledge"].split(". ")[1] for row in ROWS]
    own.respond = lambda model, prompts: [MARKUP, *right[1:-1], ""]
    return trainer, own


def test_tensorboard_shows_the_worst_answers(
    tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugin_util import markdown_to_safe_html

    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "events"))
    trainer, own = logging_trainer(tokenizer, tmp_path, "tensorboard")
    trainer.evaluate()
    own.respond = lambda model, prompts: [""] * len(prompts)
    trainer.state.global_step = 1
    trainer.evaluate()  # which has nothing to show
    events = EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    [shown] = events.Tensors("eval/worst/text_summary")
    assert shown.step == 0
    text = shown.tensor_proto.string_val[0].decode()
    table = [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row)
             for row in markdown_to_safe_html(text).split("<tr>")[1:]]
    assert table[0] == COLUMNS
    assert [len(row) for row in table] == [5] * len(ROWS)  # the empty response has no score
    scores = [float(row[1]) for row in table[1:]]
    assert scores == sorted(scores)
    number, _, prompt, response, claim = map(html.unescape, table[1])
    assert (number, prompt, response) == ("1", ROWS[0]["prompt"], MARKUP)
    assert re.fullmatch("(contradicted|not found): .*1066.*; the sources say: .* 1887[.]", claim)


def test_weights_and_biases_shows_the_worst_answers(
    tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    trainer, _ = logging_trainer(tokenizer, tmp_path, "wandb")
    trainer.evaluate()
    wandb.finish()
    [media] = tmp_path.glob("wandb/offline-run-*/files/media/table/eval/worst*.table.json")
    table = json.loads(media.read_text(encoding="utf-8"))
    assert table["columns"] == COLUMNS
    assert [row[3] for row in table["data"]].index(MARKUP) == 0
    assert len(table["data"]) == len(ROWS) - 1


def test_a_logger_that_fails_ends_no_training(
    tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    def full(*arguments: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "events"))
    trainer, _ = logging_trainer(tokenizer, tmp_path, "tensorboard")
    monkeypatch.setattr(SummaryWriter, "add_text", full)
    assert 0 < trainer.evaluate()["eval_groundedness"] < 1
    assert ("TensorBoardCallback did not get the table of the worst responses: OSError: no space "
            "left on device") in caplog.messages


class Breaking(FakeMetric):
    """Fails on whatever it is given."""

    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        raise RuntimeError("CUDA error: the device is lost")


def test_training_goes_on_without_a_metric_that_breaks(
    tokenizer: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = make_trainer(
        tokenizer, tmp_path, max_steps=4, eval_steps=2, eval_strategy="steps", save_strategy="no")
    own = callback(trainer, metrics=("scale", "knowledge_f1"))
    own.metrics[0] = Breaking("scale")
    own.respond = lambda model, prompts: ["it was opened in 1887 ."] * len(prompts)
    trainer.train()
    logged = [entry for entry in trainer.state.log_history if "eval_scale" in entry]
    assert [math.isnan(entry["eval_scale"]) for entry in logged] == [True, True]
    assert all(entry["eval_knowledge_f1"] > 0 for entry in logged)  # the others have theirs
    assert all(entry["eval_f1"] > 0 for entry in logged)
    errors = [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]
    assert len(errors) == 2
    assert errors[0].startswith("scale failed and has no numbers for these rows: ")
    assert "the device is lost" in errors[0]
    own.strict = True
    with pytest.raises(RuntimeError, match="the device is lost"):
        trainer.evaluate()


class Hollow(FakeMetric):
    """Scores everything highly, having found nothing to ask."""

    def _score(self, example: Example, evidence: bool) -> Score:
        return Score(example, 0.9, fallback=True, no_nli=0.9)


class Partial(FakeMetric):
    """Fails on responses that are not in its table."""

    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        if any(example.response not in self.table for example in examples):
            raise ValueError("no such response")
        return super().score(examples)


def test_an_evaluation_that_mostly_failed_is_never_the_best(
    tokenizer: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = make_trainer(
        tokenizer, tmp_path, max_steps=1, eval_steps=1, save_steps=1, eval_strategy="steps",
        save_strategy="steps", load_best_model_at_end=True, metric_for_best_model="scale")
    own = callback(trainer, metrics="scale")
    said = [f"the hall was opened in {year} ." for year in range(1901, 1907)]
    own.respond = lambda model, prompts: said
    own.metrics = [Partial("scale", dict.fromkeys(said[:2], 0.9))]
    trainer.train()
    [logged] = [entry for entry in trainer.state.log_history if "eval_scale" in entry]
    assert logged["eval_scale"] == 0.9
    assert "a metric failed on 4 of 6 responses: the means are of the others" in caplog.text
    assert trainer.state.best_model_checkpoint is None


def test_an_evaluation_of_fallbacks_is_never_the_best(
    tokenizer: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = make_trainer(
        tokenizer, tmp_path, max_steps=2, eval_steps=1, save_steps=1, eval_strategy="steps",
        save_strategy="steps", load_best_model_at_end=True, metric_for_best_model="q2",
        greater_is_better=True)
    own = callback(trainer, metrics=("q2",))
    own.respond = lambda model, prompts: ["it was opened in 1887 ."] * len(prompts)
    own.metrics = [Hollow("q2")]
    trainer.train()
    logged = [entry["eval_q2"] for entry in trainer.state.log_history if "eval_q2" in entry]
    assert logged == [0.9, 0.9]  # what was found is told
    assert trainer.state.best_model_checkpoint is None
    assert trainer.state.best_metric in (None, -math.inf)
    assert "should not choose the best checkpoint: 100% of the responses" in caplog.text
    assert trainer.evaluate()["eval_q2"] == 0.9  # as it was logged

    own.metrics = [FakeMetric("q2", {"it was opened in 1887 .": 0.2})]
    assert trainer.evaluate()["eval_q2"] == pytest.approx(0.2)


def test_a_value_that_does_not_exist_ends_no_training(tokenizer: Any, tmp_path: Path) -> None:
    """The trainer stops if the value by which it chooses the best checkpoint is missing."""
    trainer = make_trainer(
        tokenizer, tmp_path, max_steps=1, eval_steps=1, save_steps=1, eval_strategy="steps",
        save_strategy="steps", load_best_model_at_end=True,
        metric_for_best_model="no_answer_rate", greater_is_better=False)
    own = callback(trainer, metrics="q2")
    own.respond = lambda model, prompts: [""] * len(prompts)
    trainer.train()
    assert trainer.state.best_model_checkpoint is None
    assert not any("eval_no_answer_rate" in entry for entry in trainer.state.log_history)


def test_the_best_checkpoint_needs_a_score_that_is_computed(tokenizer: Any, tmp_path: Path) -> None:
    def started(best: str, **keywords: Any) -> None:
        trainer = make_trainer(
            tokenizer, tmp_path, max_steps=1, eval_strategy="steps", save_strategy="steps",
            load_best_model_at_end=True, metric_for_best_model=best)
        if keywords.pop("early", False):
            trainer.add_callback(transformers.EarlyStoppingCallback(1))
        own = callback(trainer, **keywords)
        own.on_train_begin(trainer.args, trainer.state, trainer.control)

    started("scale", metrics="scale")
    started("eval_loss", metrics="scale", early=True)
    with pytest.raises(InputError, match="'eval_q2', but the callback computes scale"):
        started("eval_q2", metrics="scale")
    with pytest.raises(InputError, match=r"finds only names with .eval_.: leave out prefix='kg_'"):
        started("kg_scale", metrics="scale", prefix="kg_")
    with pytest.raises(InputError, match="EarlyStoppingCallback stands before Q2Callback"):
        started("scale", metrics="scale", early=True)


@pytest.mark.parametrize("prefix", ["eval_", "kg_"])
def test_of_several_evaluation_sets_the_callback_runs_once(
    tokenizer: Any, tmp_path: Path, prefix: str
) -> None:
    """Also if the sets have no labels, and so no loss."""
    trainer = make_trainer(tokenizer, tmp_path)
    data = [{"input_ids": row["input_ids"]} for row in encoded(tokenizer)]
    trainer.eval_dataset = {"a": data, "b": data[:2]}
    trainer.prediction_step = lambda *_, **__: (None, None, None)
    calls: list[int] = []
    own = callback(trainer, metrics="knowledge_f1", prefix=prefix)
    own.respond = lambda model, prompts: calls.append(1) or ["it opened"] * len(prompts)
    assert f"{prefix}knowledge_f1" in trainer.evaluate()
    assert len(calls) == 1
    assert f"{prefix}knowledge_f1" in trainer.evaluate(data)
    assert len(calls) == 2


def test_a_full_disk_or_a_failed_generation_ends_no_training(
    tokenizer: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = make_trainer(
        tokenizer, tmp_path, max_steps=1, eval_steps=1, eval_strategy="steps", save_strategy="no")
    own = callback(trainer, metrics="knowledge_f1", out=tmp_path / "runs")
    own.respond = lambda model, prompts: ["it was opened in 1887 ."] * len(prompts)
    (tmp_path / "runs").rename(tmp_path / "moved")
    trainer.train()
    [scored] = [entry for entry in trainer.state.log_history if "eval_knowledge_f1" in entry]
    assert scored["eval_knowledge_f1"] > 0
    assert "this evaluation is not kept in the folder out" in caplog.text

    def fail(model: Any, prompts: Any) -> list[str]:
        raise RuntimeError("out of memory")

    own.respond = fail
    assert math.isnan(trainer.evaluate()["eval_knowledge_f1"])
    assert "no response was generated" in caplog.text
    own.strict = True
    with pytest.raises(RuntimeError, match="out of memory"):
        trainer.evaluate()


def test_an_evaluation_of_other_rows_is_left_alone(tokenizer: Any, tmp_path: Path) -> None:
    trainer = make_trainer(tokenizer, tmp_path)
    callback(trainer, metrics="knowledge_f1")
    found = trainer.evaluate(encoded(tokenizer)[:2], metric_key_prefix="test")
    assert "test_loss" in found
    assert not any(name.endswith("knowledge_f1") for name in found)
    own = callback(trainer, metrics="knowledge_f1", prefix="test_")
    assert "test_knowledge_f1" in trainer.evaluate(metric_key_prefix="test")
    assert len(own.responses) == len(ROWS)


def test_compute_metrics_of_predict_with_generate(tokenizer: Any, tmp_path: Path) -> None:
    from q2_metric.integrations.trainer import Q2ComputeMetrics

    trainer = make_trainer(tokenizer, tmp_path, predict_with_generate=True)
    own = callback(trainer)
    trainer.compute_metrics = Q2ComputeMetrics(
        tokenizer, [row["knowledge"] for row in ROWS], metrics=("q2", "scale"))
    found = trainer.evaluate()
    twice = [entry for entry in trainer.state.log_history if "eval_q2" in entry]
    assert len(twice) == 2
    assert own.responses
    for name in ("eval_no_claim", "eval_f1", "eval_bleu"):
        assert twice[0][name] == pytest.approx(twice[1][name])
        assert found[name] == pytest.approx(twice[1][name])
    assert twice[0]["eval_no_claim"] == 1.0  # nothing was learnt yet
    assert twice[0]["eval_q2"] == twice[1]["eval_q2"] == found["eval_q2"] == 0.0


def test_compute_metrics_returns_and_warns_of_fallbacks(
    tokenizer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from types import SimpleNamespace

    from q2_metric.integrations.trainer import Q2ComputeMetrics

    ids = [tokenizer(row["reference"])["input_ids"] for row in ROWS]
    knowledge = [row["knowledge"] for row in ROWS]
    compute = Q2ComputeMetrics(tokenizer, knowledge, metrics=("q2",))
    compute.metrics = [Hollow("q2")]
    found = compute(SimpleNamespace(predictions=ids, label_ids=ids))
    assert (found["q2"], found["fallback"], found["f1"]) == (0.9, 1.0, 1.0)
    assert "should not choose the best checkpoint" in caplog.text
    assert "q2 0.900" in caplog.text
    others = [ids[1], *ids[1:]]  # another evaluation set of the same size
    found = compute(SimpleNamespace(predictions=others, label_ids=others))
    assert (math.isnan(found["q2"]), found["f1"]) == (True, 1.0)
    assert "the labels are not those of the first evaluation" in caplog.text
    found = compute(SimpleNamespace(predictions=ids[:2], label_ids=ids[:2]))
    assert math.isnan(found["q2"])
    assert "2 predictions for 6 knowledge texts" in caplog.text
    compute.metrics = [Breaking("q2")]
    assert math.isnan(compute(SimpleNamespace(predictions=ids, label_ids=ids))["q2"])
    compute.strict = True
    with pytest.raises(RuntimeError, match="the device is lost"):
        compute(SimpleNamespace(predictions=ids, label_ids=ids))


def test_two_processes_log_what_one_logs(
    tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seq2seq(tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "rows.json").write_text(json.dumps(ROWS[:5]))
    script = tmp_path / "evaluate_once.py"
    script.write_text(
        "import json, sys, torch, transformers as t\n"
        "from q2_metric.integrations.trainer import Q2Callback\n"
        "tok = t.AutoTokenizer.from_pretrained('model')\n"
        "model = t.AutoModelForSeq2SeqLM.from_pretrained('model')\n"
        "rows = json.load(open('rows.json'))\n"
        "data = [{'input_ids': tok(r['prompt'])['input_ids'],\n"
        "         'labels': tok(r['reference'])['input_ids']} for r in rows]\n"
        "args = t.Seq2SeqTrainingArguments('out', use_cpu=True, report_to=[], disable_tqdm=True,\n"
        "    per_device_eval_batch_size=2, generation_max_length=9)\n"
        "trainer = t.Seq2SeqTrainer(model, args, eval_dataset=data, processing_class=tok,\n"
        "    data_collator=t.DataCollatorForSeq2Seq(tok, model=model))\n"
        "own = Q2Callback(trainer, rows)\n"
        "trainer.add_callback(own)\n"
        "found = {k: v for k, v in trainer.evaluate().items() if 'q2' in k or 'scale' in k\n"
        "         or 'f1' in k}\n"
        "class Broken:\n"
        "    name, signature = 'scale', 'scale|version:1'\n"
        "    def score(self, examples): raise RuntimeError('CUDA error: the device is lost')\n"
        "own.respond = lambda model, prompts: ['it was opened in 1887 .'] * len(prompts)\n"
        "own.metrics = [Broken()] if own.metrics else []\n"
        "broken = trainer.evaluate()['eval_scale']\n"
        "own.strict = True\n"
        "try: trainer.evaluate(); ended = 'it went on'\n"
        "except Exception as error: ended = str(error)\n"
        "found |= {'broken': broken, 'ended': ended}\n"
        "open(f'{sys.argv[1]}-{args.process_index}.json', 'w').write(json.dumps(found))\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": str(port)}

    # As torchrun starts them, without its short deadlines, which a busy machine misses.
    runs = [
        subprocess.Popen(
            [sys.executable, script, "two"], cwd=tmp_path, text=True, stderr=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1", "RANK": rank, "LOCAL_RANK": rank, **shared})
        for rank in ("0", "1")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script), "one"])
    runpy.run_path(str(script))
    for run in runs:
        _, said = run.communicate(timeout=300)
        assert run.returncode == 0, said
    one, first, second = (json.loads((tmp_path / f"{name}.json").read_text())
                          for name in ("one-0", "two-0", "two-1"))
    for found in (one, first, second):  # neither waits for the other
        assert math.isnan(found.pop("broken"))
        assert "the device is lost" in found.pop("ended")
    assert first == pytest.approx(one, nan_ok=True)
    assert second == pytest.approx(one, nan_ok=True)


@pytest.mark.parametrize(("rows", "keywords", "message"), [
    ([{"prompt": "a"}], {}, "row 0 has no field 'knowledge'; its fields are prompt"),
    ([{"prompt": "a", "knowledge": 3}], {}, "knowledge of row 0 is a number"),
    ([*ROWS, {"prompt": "a", "knowledge": "b"}], {}, "6 of 7 rows have a reference"),
    ([{"prompt": "a", "knowledge": "b"}], {"metrics": ["q2", "bleu"]}, "bleu compares with"),
    ([], {}, "no row"),
    (ROWS, {"columns": {"history": "hist"}}, "no row has 'hist', which columns names for 'history"),
    (ROWS, {"generation": {"max_new_token": 5}}, "did you mean 'max_new_tokens'"),
    (ROWS, {"batch_size": -1}, "batch_size must be at least 1, not -1"),
    (ROWS, {"batch_size": "8"}, "batch_size must be a whole number, not '8'"),
    (ROWS, {"prefix": "test"}, "prefix is 'test', not a text such as .eval_."),
    ([{"prompt": "a", "knowledge": " "}] * 2, {}, "no row has a knowledge text"),
    (ROWS, {"metrics": "f1,bleu"}, "f1 and bleu are computed beside other metrics"),
    (ROWS, {"metrics": ["q2", "scale", "rouge"]}, "no metric 'rouge'"),
    (ROWS, {"columns": {"promt": "input"}}, "field in columns .promt.; did you mean .prompt."),
    ([{"prompt": "a", "knowledge": "b"},
      {"prompt": [{"role": "user", "content": "a"}], "knowledge": "b"}], {},
     "prompt of row 1 cannot be tokenised: .*chat_template"),
    (ROWS, {"max_prompt_length": 0}, "must be at least 1$"),
    (ROWS, {"decodnig": "beam"}, "did you mean 'decoding'"),
])
def test_bad_input_shows_before_the_training(
    tokenizer: Any, tmp_path: Path, rows: Any, keywords: dict[str, Any], message: str
) -> None:
    from q2_metric.integrations.trainer import Q2Callback

    with pytest.raises(InputError, match=message):
        Q2Callback(make_trainer(tokenizer, tmp_path), rows, **keywords)
