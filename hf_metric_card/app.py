"""The page of the Space: the form of ``q2 serve`` as a gradio interface, offline.

``python app.py`` runs it on this machine with the bundled preset.
"""

from __future__ import annotations

from html import escape

import gradio as gr

from q2_metric import Q2Error, scoring
from q2_metric.serve.page import Explainer

EXAMPLES = [
    ["The tower was built from 1887 to 1889. It was designed by Pablo Picasso.",
     "The Eiffel Tower was constructed from 1887 to 1889 as the centerpiece of the 1889 World's "
     "Fair. It is named after the engineer Gustave Eiffel, whose company designed and built the "
     "tower.", ""],
    ["Refunds take 5 days.", "Refunds are paid within 5 working days.",
     "How long do refunds take?"],
]
# The frame runs its own script and nothing else: not the page's, no forms, no other site.
FRAME = ('<iframe title="Explanation" sandbox="allow-scripts" srcdoc="{}" '
         'style="width: 100%; height: 46rem; border: 0"></iframe>')
# Fonts of this machine: gradio's default theme would fetch one from another site.
THEME = gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])


def page() -> gr.Interface:
    """The page, not yet started; the models are loaded."""
    explainer = Explainer(scoring.load(None, {}))

    def explain(answer: str, sources: str, question: str) -> str:
        try:
            return FRAME.format(escape(explainer.page(explainer.row(answer, sources, question))))
        except Q2Error as error:
            raise gr.Error(str(error), print_exception=False) from error

    boxes = [gr.Textbox(label=name, lines=lines)
             for name, lines in (("Answer", 3), ("Sources", 6), ("Question (may be empty)", 1))]
    return gr.Interface(
        explain, boxes, gr.HTML(label="Explanation"), examples=EXAMPLES, cache_examples=False,
        title="Is this answer supported by its sources?", submit_btn="Score",
        flagging_mode="never", analytics_enabled=False, api_name="explain")


if __name__ == "__main__":
    page().launch(theme=THEME)
