"""The Space's page: type a response and its knowledge, see the scores and what they rest on.

``python app.py`` runs it on this machine, offline, with the bundled preset.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from q2_metric import Q2, Example, Q2Error, Scale
from q2_metric.io import is_blank
from q2_metric.types import Comparison, Evidence

TITLE = "Is this response supported by its knowledge?"
INTRO = (
    "**Q²** asks questions about the response, answers them from the knowledge and compares the "
    "answers. **SCALE** asks for each sentence whether the knowledge entails it. Both run here "
    "with the small models of the package; larger ones are a keyword away."
)
EXAMPLES = [
    ["i love that show ! it aired on pbs from 1983 to 1991 .",
     "Ross hosted The Joy of Painting, which aired from 1983 to 1994 on PBS.", ""],
    ["yes , it was built for the world's fair in 1889 .",
     "The Eiffel Tower was constructed from 1887 to 1889 as the centerpiece of the 1889 World's "
     "Fair.", "have you been to paris ?"],
    ["it is the largest desert in africa , and it never rains there .",
     "The Sahara is a desert on the African continent. With an area of 9,200,000 square "
     "kilometres, it is the largest hot desert in the world.", ""],
]
QUESTION_COLUMNS = ["score", "question", "in the response", "in the knowledge", "compared"]
QUESTION_WIDTHS = ["8%", "38%", "18%", "18%", "18%"]
SENTENCE_COLUMNS = ["score", "sentence", "best support in the knowledge"]
SENTENCE_WIDTHS = ["8%", "42%", "50%"]
LONGEST = 20_000
"""Characters of an input: the page is for a try, files are for ``q2 score``."""


def explain(response: str, knowledge: str, history: str) -> tuple[Any, ...]:
    """The page's outputs for its inputs."""
    for name, text in (("response", response), ("knowledge", knowledge)):
        if is_blank(text):
            raise gr.Error(f"The {name} is empty.", print_exception=False)
        if len(text) > LONGEST:
            raise gr.Error(f"The {name} has {len(text):,} characters; here at most {LONGEST:,}. "
                           "Long texts: q2 score.", print_exception=False)
    example = Example(response, knowledge, tuple(filter(None, history.splitlines())))
    try:
        q2, scale = Q2.from_preset("bundled"), Scale.from_preset("bundled")
        [asked], [judged] = q2.score([example]), scale.score([example], evidence=True)
    except Q2Error as error:
        raise gr.Error(str(error), print_exception=False) from error
    note = "No valid question: NLI of the whole response." if asked.fallback else ""
    questions = [_question(item) for item in asked.because if isinstance(item, Comparison)]
    sentences = [_sentence(item) for item in judged.because if isinstance(item, Evidence)]
    return (_number(asked.value), _number(asked.no_nli), _number(judged.value), note,
            questions, sentences, f"{q2.signature}\n{scale.signature}")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _question(item: Comparison) -> list[str]:
    how = item.how.replace("_", " ")
    if item.how == "nli" and item.verdict is not None:
        how = f"{item.verdict.label} {getattr(item.verdict, item.verdict.label):.2f}"
    return [_number(item.score), item.question.text, item.response_answer,
            item.knowledge_answer or "–", how]


def _sentence(item: Evidence) -> list[str]:
    return [_number(item.score), item.sentence, item.support or "–"]


def page() -> gr.Blocks:
    """The page, not yet started."""
    with gr.Blocks(title=TITLE, analytics_enabled=False) as blocks:
        gr.Markdown(f"# {TITLE}\n{INTRO}")
        with gr.Row():
            with gr.Column():
                response = gr.Textbox(label="Response", lines=3)
                knowledge = gr.Textbox(label="Knowledge", lines=6)
                history = gr.Textbox(label="History (a turn a line, may be empty)", lines=2)
                button = gr.Button("Score", variant="primary")
            with gr.Column():
                with gr.Row():
                    q2 = gr.Textbox(label="Q²", interactive=False, min_width=90)
                    no_nli = gr.Textbox(label="Q² without NLI", interactive=False, min_width=90)
                    scale = gr.Textbox(label="SCALE", interactive=False, min_width=90)
                note = gr.Textbox(label="Note", interactive=False)
                signature = gr.Textbox(label="Signatures", lines=6, interactive=False)
        # Plain text throughout: what users type is never markup.
        questions = gr.Dataframe(
            headers=QUESTION_COLUMNS, column_widths=QUESTION_WIDTHS, datatype="str", wrap=True,
            interactive=False, label="Questions of Q²")
        sentences = gr.Dataframe(
            headers=SENTENCE_COLUMNS, column_widths=SENTENCE_WIDTHS, datatype="str", wrap=True,
            interactive=False, label="Sentences of SCALE")
        gr.Examples(EXAMPLES, [response, knowledge, history])
        outputs = [q2, no_nli, scale, note, questions, sentences, signature]
        button.click(explain, [response, knowledge, history], outputs, api_name="explain")
    return blocks


if __name__ == "__main__":
    page().launch()
