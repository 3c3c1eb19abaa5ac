"""Loads the stages of a preset. Stages of a process share the same weights.

Raises InputError for an unknown preset or setting, MissingExtra if a package is not installed, and
ModelError if a model cannot be loaded.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from q2_metric.errors import InputError, ModelError
from q2_metric.models import presets
from q2_metric.models.presets import DEFAULT, Kind, Preset, Stage, is_endpoint, preset
from q2_metric.runtime_config import RuntimeConfig
from q2_metric.text import given

if TYPE_CHECKING:
    from q2_metric import types
    from q2_metric.models.endpoints import Endpoint
    from q2_metric.models.hub.loading import AutoClass, LoadedModel
    from q2_metric.models.hub.questions import Decoding, QuestionContext

_LOG = logging.getLogger(__name__)
DEFAULT_RUNTIME = RuntimeConfig()


def check(chosen: str | Preset, replaced: Mapping[str, str | None]) -> None:
    """Checks that the models of several stages can be used, before any weights are downloaded.
    ``replaced`` maps a key of ``presets.STAGES`` to the model that replaces the preset's."""
    models = [_name(model) or preset(chosen).model(keyword) for keyword, model in replaced.items()]
    for model in filter(is_endpoint, models):
        _endpoint(model)
    if hub := [model for model in models if model and not is_endpoint(model)]:
        from q2_metric.models.hub.loading import check_models

        check_models(hub)


def load_coreference(model: str | None = None) -> types.CoreferenceResolver:
    """Creates the coreference resolver ``model``: a class, as "package.module:Class". InputError:
    no class is named. ModelError: it cannot be created."""
    if not model or ":" not in model:
        raise InputError("coreference=True needs a resolver of your own: set coreference_model to "
                         f"its class, as package.module:Class (not {model!r})")
    try:
        resolver: types.CoreferenceResolver = resolve_name(model)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ModelError(f"the resolver {model!r} cannot be created: {error}") from error
    return resolver


def load_questions(
    chosen: str | Preset = DEFAULT, model: str | None = None,
    config: RuntimeConfig = DEFAULT_RUNTIME, *, decoding: Decoding = "beam", seed: int = 0,
    reading: QuestionContext = "neighbours", authors: bool = False,
) -> types.QuestionGenerator:
    """Loads the question generator of a preset. ``model``, an encoder-decoder model (Hub name or
    folder) or endpoint (:mod:`q2_metric.models.endpoints`), replaces the preset's. For ``decoding``
    and so on see ``Seq2SeqQuestions``; the package's own rules ignore them. With ``authors``,
    questions are decoded as in the program of Q²'s authors."""
    if is_endpoint(model):
        from q2_metric.models.chat import ChatQuestions

        return ChatQuestions(_endpoint(model), reading)
    stage = _replaced(preset(chosen).questions, model, "seq2seq")
    from q2_metric.models.hub.questions import Seq2SeqQuestions

    return Seq2SeqQuestions(
        _weights("AutoModelForSeq2SeqLM", stage.model, config), template=stage.template or None,
        decoding=decoding, seed=seed, reading=reading, authors=authors,
        batch_size=config.batch_size)


def load_reader(
    chosen: str | Preset = DEFAULT, model: str | None = None,
    config: RuntimeConfig = DEFAULT_RUNTIME, *, authors: bool = False,
) -> types.Reader:
    """Loads the reader of a preset. ``model``, an extractive question answering model (Hub name or
    folder) or endpoint, replaces it. With ``authors``, it reads as the program of Q²'s authors does
    (torch models only)."""
    stage = _replaced(preset(chosen).reader, model, "reader")
    if authors and (stage.kind == "bundled" or is_endpoint(model)):
        raise InputError("recipe='authors' needs a transformers reader: use the preset "
                         "'paper-exact', or name one with reader_model= (-s reader_model=…)")
    if is_endpoint(model):
        from q2_metric.models.chat import ChatReader

        return ChatReader(_endpoint(model))
    if stage.kind == "bundled":
        from q2_metric.models.bundled.models import BundledReader

        return BundledReader(config.device, config.dtype, config.batch_size)
    from q2_metric.models.hub.reader import AuthorsReader, TorchReader

    weights = _weights("AutoModelForQuestionAnswering", stage.model, config)
    kind = AuthorsReader if authors else TorchReader
    return kind(weights, batch_size=config.batch_size)


def load_nli(
    chosen: str | Preset = DEFAULT, model: str | None = None,
    config: RuntimeConfig = DEFAULT_RUNTIME, **options: Any,
) -> types.Entailment:
    """Loads the NLI model of a preset. The arguments are those of :func:`load_backbone`."""
    if is_endpoint(model):
        from q2_metric.models.chat import ChatNli

        return ChatNli(_endpoint(model))
    stage = preset(chosen).nli
    if options.get("labels") and stage.kind == "bundled" and model is None:
        raise InputError("nli_labels is for Hub models; the bundled models know their classes")
    return _entailment(stage, model, config, **options)


def load_backbone(
    chosen: str | Preset = DEFAULT, model: str | None = None,
    config: RuntimeConfig = DEFAULT_RUNTIME, **options: Any,
) -> types.Backbone:
    """Loads a preset's SCALE backbone: the model that judges if a chunk supports a sentence.

    Args:
        model: Hub name or folder of a sequence classifier, or of an encoder-decoder model or
            endpoint, which is asked a Yes/No question.
        options: ``labels``: class names in the order of a classifier's logits, if its config has
            none. ``prompt``: a key of ``hub.yes_no.PROMPTS``; the default is the preset's for its
            model, "minicheck" for other MiniCheck models, and otherwise "scale". ``chunk_size``:
            tokens of a chunk that a Yes/No model must read in one piece.
    """
    if is_endpoint(model):
        from q2_metric.models.chat import ChatYesNo

        return ChatYesNo(_endpoint(model), options.get("prompt"))
    return _entailment(preset(chosen).scale, model, config, **options)


def load_counter(model: str) -> Callable[[int, int], None]:
    """Counts, in the costs of an endpoint, its claims and the claims it was chosen from."""
    return _endpoint(model).cost.count


def _entailment(
    stage: Stage, model: str | None, config: RuntimeConfig, *, labels: Sequence[str] | None = None,
    prompt: str | None = None, chunk_size: int = 0,
) -> types.Backbone:
    stage = _replaced(stage, model)
    if prompt is not None and stage.kind != "yes-no":
        raise InputError(f"{stage.model or 'the bundled model'} is an NLI classifier and takes no "
                         "prompt; prompts are for encoder-decoder models")
    if stage.kind == "bundled":
        from q2_metric.models.bundled.models import BundledCascade, BundledEntailment

        models = [BundledEntailment(config.device, config.dtype, config.batch_size, network)
                  for network in stage.networks]
        return BundledCascade(*models) if len(models) > 1 else models[0]
    if stage.kind == "nli":
        from q2_metric.models.hub.names import parted
        from q2_metric.models.hub.nli import TorchNli

        weights = _weights("AutoModelForSequenceClassification", stage.model, config)
        known = stage.labels or presets.LABELS.get(parted(stage.model)[0], ())
        return TorchNli(weights, labels=labels, known=known, batch_size=config.batch_size)
    from q2_metric.models.hub.yes_no import MAX_INPUT, YesNoEntailment

    weights = _weights("AutoModelForSeq2SeqLM", stage.model, config)
    usual = "minicheck" if "minicheck" in Path(stage.model).name.lower() else "scale"
    return YesNoEntailment(weights, prompt=prompt or stage.template or usual,
                           batch_size=config.batch_size,
                           max_length=max(MAX_INPUT, chunk_size + MAX_INPUT // 4))


def _endpoint(model: str | None) -> Endpoint:
    from q2_metric.models.endpoints import endpoint

    return endpoint(model or "")


def _replaced(stage: Stage, model: str | None, kind: Kind | None = None) -> Stage:
    """Without a kind, the model judges entailment."""
    name = _name(model)
    if name is None or name == stage.model:
        return stage
    from q2_metric.models.hub.names import is_folder, parted

    if kind is None:
        from q2_metric.models.hub.nli import entailment_kind

        kind = entailment_kind(name)
    # The input format and the classes of a preset's model are used in other presets too. The model
    # may have a revision, or be a folder with the model's name.
    folder = Path(name).expanduser().name if is_folder(name) else ""
    known = (one for known, one in presets.published().items() if one.kind == kind
             and (known.rpartition("/")[2] == folder or known == parted(name)[0]))
    return replace(next(known, Stage(kind)), model=name)


def _name(model: object) -> str | None:
    if model is None or isinstance(model, (str, Path)):
        return None if model is None else str(model)
    raise InputError(f"a model is a Hub name or a local folder, not {given.kind(model)}")


def _weights(auto_class: AutoClass, model: str, config: RuntimeConfig) -> LoadedModel:
    from q2_metric.models.hub.loading import require, resolve_device

    require(f"the model {model!r}")
    dtype = "float32" if config.dtype == "auto" else config.dtype  # only bundled models have 8 bits
    return _cached_weights(auto_class, model, resolve_device(config.device), dtype)


@functools.cache
def _cached_weights(auto_class: AutoClass, model: str, device: str, dtype: str) -> LoadedModel:
    from q2_metric.models.hub.loading import load_pretrained

    stage = presets.published().get(model)
    if stage and dtype == "float32" and stage.gigabytes() >= 8:
        _LOG.warning("%s in float32 needs %.0f GB of memory, and for a GPU as much host memory "
                     "first; --dtype bfloat16 needs %.0f GB",
                     model, stage.gigabytes(), stage.gigabytes(2))
    return load_pretrained(auto_class, model, device, dtype)


def clear_cache() -> None:
    """Forgets the loaded torch models, so that their memory can be freed."""
    _cached_weights.cache_clear()
