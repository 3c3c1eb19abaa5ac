"""The page of the Space: type a response and its knowledge, and see the scores with their evidence.

``python app.py`` runs it on this machine, offline, with the bundled preset. The explanation is that
of ``q2 report``, in a frame of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

import gradio as gr

from q2_metric import Example, Q2Error, scoring
from q2_metric.report.page import explanation
from q2_metric.rows.fields import Layout, output_row
from q2_metric.text.given import is_blank
from q2_metric.types import Metric

TITLE = "Is this response supported by its knowledge?"
INTRO = (
    "**Q²** asks questions about the response, answers them from the knowledge and compares the "
    "answers. **SCALE** asks for each sentence whether the knowledge entails it. Both run here "
    "with the small models of the package; larger ones are a keyword away."
)
# A wrong year; all of it right; an invented sentence; a clause that the two metrics judge
# differently; nothing that could be checked.
EXAMPLES = [
    ["i love that show ! it aired on pbs from 1983 to 1991 .",
     "Ross hosted The Joy of Painting, which aired from 1983 to 1994 on PBS.", ""],
    ["yes , it was built for the world's fair in 1889 .",
     "The Eiffel Tower was constructed from 1887 to 1889 as the centerpiece of the 1889 World's "
     "Fair.", "have you been to paris ?"],
    ["The tower was built from 1887 to 1889. It was designed by Pablo Picasso.",
     "The Eiffel Tower was constructed from 1887 to 1889 as the centerpiece of the 1889 World's "
     "Fair. It is named after the engineer Gustave Eiffel, whose company designed and built the "
     "tower.", ""],
    ["it is the largest desert in africa , and it never rains there .",
     "The Sahara is a desert on the African continent. With an area of 9,200,000 square "
     "kilometres, it is the largest hot desert in the world.", ""],
    ["that's awesome ! i would love to see it .",
     "The Sahara is a desert on the African continent.", "i will cross the sahara next year ."],
]
LONGEST = 20_000
"""Most characters of an input. Use ``q2 score`` for longer texts."""

# Fonts of this machine: gradio's default theme would fetch one from Google.
THEME = gr.themes.Default(
    primary_hue="slate", font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])

# The frame runs its own script and nothing else: not the page's, no forms, no other site.
FRAME = (
    '<iframe title="Explanation" sandbox="allow-scripts" srcdoc="{page}" '
    'style="width: 100%; height: 46rem; border: 0"></iframe>'
)


@cache
def metrics() -> Sequence[Metric]:
    """The metrics, loaded once."""
    return scoring.load(None, {})


def explain(response: str, knowledge: str, history: str) -> tuple[str, dict[str, Any]]:
    """The explanation as HTML, and the same as a row of ``q2 score --out``."""
    for name, text in (("response", response), ("knowledge", knowledge), ("history", history)):
        if is_blank(text) and name != "history":
            raise gr.Error(f"The {name} is empty.", print_exception=False)
        if len(text) > LONGEST:
            raise gr.Error(f"The {name} has {len(text):,} characters; this page takes at most "
                           f"{LONGEST:,}. "
                           "Long texts: q2 score.", print_exception=False)
    example = Example(response, knowledge, tuple(filter(None, history.splitlines())))
    try:
        [scores] = scoring.score(metrics(), [example], evidence=True)
    except Q2Error as error:
        raise gr.Error(str(error), print_exception=False) from error
    row = output_row(0, example, scores, Layout(list(scores), texts=True))
    signatures = [metric.signature for metric in metrics()]
    page = explanation(row, signatures)
    return FRAME.format(page=escape(page)), row | {"signatures": signatures}


def page() -> gr.Blocks:
    """The page, not yet started, with the first example on it; the models are loaded."""
    first, row = explain(*EXAMPLES[0])
    with gr.Blocks(title=TITLE, analytics_enabled=False) as blocks:
        gr.Markdown(f"# {TITLE}\n{INTRO}")
        shown = gr.HTML(first, label="Explanation", render=False)
        data = gr.JSON(row, label="A row of q2 score --out", render=False)
        with gr.Row():
            with gr.Column(scale=2):
                response = gr.Textbox(EXAMPLES[0][0], label="Response", lines=3)
                knowledge = gr.Textbox(EXAMPLES[0][1], label="Knowledge", lines=6)
                history = gr.Textbox(label="History (a turn a line, may be empty)", lines=2)
                button = gr.Button("Score", variant="primary")
                inputs, outputs = [response, knowledge, history], [shown, data]
                gr.Examples(
                    EXAMPLES, inputs, outputs, explain, cache_examples=False, run_on_click=True,
                    example_labels=[example[0] for example in EXAMPLES], api_name=False)
            with gr.Column(scale=3):
                shown.render()
                with gr.Accordion("As data", open=False):
                    data.render()
        # Remove the old result first, so that an error does not leave it beside the new texts.
        button.click(lambda: ("", None), None, outputs, api_visibility="private").then(
            explain, inputs, outputs, api_name="explain")
    return blocks


if __name__ == "__main__":
    page().launch(theme=THEME)
