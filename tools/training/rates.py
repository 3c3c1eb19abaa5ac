"""The rates of the sources for the stages of the entailment networks.

The rate of a source says how many times an epoch contains each of its rows, on average. There are
two packs of sources: the folders ``groundedness`` and ``groundedness2`` of the training data.
"""

from __future__ import annotations

RATES = {
    "fever_dev": 1.0, "fool_me_twice": 2.0, "fever_symmetric": 2.0,
    "snli_counterfactual": 0.6, "mnli_taxinli": 1.0, "lingnli_train": 0.8,
    "lingnli_val": 0.8, "rte": 1.0, "conjnli_dev": 1.0, "conjnli_auto": 0.3,
    "breaking_nli": 0.4, "med": 0.2, "monli": 0.3, "help_conj": 0.2, "dnc_recast": 0.2,
    "dnc_function_words": 0.6, "factcheck_gpt_stance": 0.6, "climate_fever": 0.4,
    "healthver": 0.3, "covidfact": 0.5, "scifact_rte": 0.5, "citation_integrity": 0.1,
    "wice_claims": 1.0, "wice_partial_subclaims": 1.0, "summedits": 0.8, "bump": 1.0,
    "dialsummeval": 1.0, "faceval": 1.0, "cliff": 1.5, "goyal21": 1.0, "fib": 1.0,
    "falke_sentence_pairs": 2.0, "cg2c_doc": 1.0, "control": 0.2, "nli4ct": 0.15,
    "faithdial_audit_wow": 3.0, "faithdial_audit_topical": 1.5, "faithdial_audit_cmu": 1.0,
}
"""Rates of the first pack for the first stages. The source qnli_dev is left out, because its
hypotheses are questions."""

LAST_RATES = RATES | {
    "cliff": 3.0, "fib": 1.5, "cg2c_doc": 1.5, "wice_claims": 1.5, "dialsummeval": 2.0,
    "faceval": 1.5, "summedits": 1.0, "falke_sentence_pairs": 3.0, "fool_me_twice": 2.5,
}
"""Rates of the first pack for the last stage that uses only this pack: more long texts and
summaries."""

GENERAL_RATES = {
    "mnli_mlbench": 0.25, "mnli_train_sample": 0.25, "docnli_fever_dev": 0.15,
    "docnli_mctest": 0.05, "tenp_base": 0.7, "tenp_edit_other": 0.7, "tenp_edit_premise": 0.8,
    "tenp_paragraph": 0.8, "semiauto_nli_wiki": 0.5, "entailment_bank": 0.1, "inli": 0.1,
    "negation_nli": 0.4, "nope_presupposition": 0.2, "clapnq_dev": 0.15, "inscit_dev": 0.15,
    "attributionbench": 0.7, "dstc9_auto_negatives": 0.15,
}
"""Rates of the second pack for the stage "general". Nearly every row is seen once or never."""

REPLAYED_RATES = {
    "fever_dev": 0.1, "fool_me_twice": 0.5, "fever_symmetric": 0.5, "lingnli_train": 0.1,
    "lingnli_val": 0.1, "rte": 0.15, "conjnli_dev": 0.4, "dnc_function_words": 0.15,
    "wice_claims": 0.15, "wice_partial_subclaims": 0.4, "summedits": 0.1, "bump": 0.1,
    "dialsummeval": 0.4, "faceval": 0.3, "cliff": 0.4, "goyal21": 0.2, "fib": 0.15,
    "falke_sentence_pairs": 0.6, "faithdial_audit_wow": 1.0, "faithdial_audit_topical": 0.4,
    "faithdial_audit_cmu": 0.4,
}
"""Low rates of the first pack for later stages, so that the network does not forget it."""

CONTRASTED_RATES = GENERAL_RATES | {
    "tenp_contrast": 0.9, "condaqa_edits": 0.9, "sufficient_facts": 0.9, "feverous_dev_s": 0.9,
    "check_covid": 0.5, "tenp_base": 0.4, "tenp_edit_other": 0.4, "tenp_edit_premise": 0.5,
    "mnli_mlbench": 0.2, "mnli_train_sample": 0.2, "snli_train_subsamples": 0.06,
    "docnli_mnli_dev": 0.15, "inli": 0.05, "entailment_bank": 0.05, "attributionbench": 0.5,
}
"""Rates of the second pack for the stage "contrasted": more rows from sources in which people
changed a sentence a little so that its label changes."""

REORDERED_RATES = CONTRASTED_RATES | {
    "mnli_mlbench": 0.3, "mnli_train_sample": 0.3, "snli_train_subsamples": 0.08,
    "docnli_fever_dev": 0.2, "docnli_mctest": 0.08, "semiauto_nli_wiki": 0.4,
    "attributionbench": 0.4, "sufficient_facts": 0.6, "condaqa_edits": 0.5,
    "feverous_dev_s": 0.6, "tenp_contrast": 0.5, "dstc9_auto_negatives": 0.3,
    "tenp_paragraph": 0.6, "negation_nli": 0.3,
}
"""Rates of the second pack for the stage "reordered": more of the rows that were rarely seen in
earlier stages."""

SUMMARISED_RATES = REPLAYED_RATES | {
    "cliff": 1.0, "fib": 0.5, "falke_sentence_pairs": 1.0, "goyal21": 0.6, "dialsummeval": 0.8,
    "faceval": 0.6, "summedits": 0.25, "bump": 0.4, "cg2c_doc": 0.3, "fever_dev": 0.2,
}
"""Low rates of the first pack for later stages, with more summaries."""

WIDE_RATES = CONTRASTED_RATES | {
    "mnli_mlbench": 0.4, "mnli_train_sample": 0.4, "snli_train_subsamples": 0.1,
    "docnli_fever_dev": 0.2, "attributionbench": 0.8,
}
WIDE_REPLAYED_RATES = {name: 0.4 * rate for name, rate in RATES.items()}
"""For the first stage of the wide network, ``WIDE_RATES`` are the rates of the second pack, and
these the rates of the first pack. The stage sees many different rows, none of them often."""
WIDE_SUMMARISED_RATES = {name: 0.4 * rate for name, rate in LAST_RATES.items()}
"""Rates of the first pack for the later stages of the wide network: more long texts and summaries.
"""

KEPT_BACK = (
    "rome1776_wow", "shroom2024", "expertqa_attribution", "propsegment_wiki_dev",
    "dstc9_human_accuracy", "glue_diagnostic", "advglue_dev", "written_fit",
)
"""Sources on which no network is trained, because the heads of ``groundedness`` are fitted on them.
"""
