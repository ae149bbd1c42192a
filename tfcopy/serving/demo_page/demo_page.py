"""Layout and event handlers of the page, in Gradio."""

import functools
import os
import pathlib

# Set before Gradio is imported, so that it contacts no other host.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr  # noqa: E402

from tfcopy.runtime.signatures import AskError  # noqa: E402
from tfcopy.serving.demo_page import (
    demo_answers,
    demo_html,
    demo_server,
    demo_texts,
)

_TITLE = "tfcopy"
_STYLE = pathlib.Path(__file__).with_name("style.css")
_FONTS = ["system-ui", "Segoe UI", "Roboto", "Noto Sans", "sans-serif"]
_MONO_FONTS = ["ui-monospace", "Consolas", "DejaVu Sans Mono", "monospace"]
_MOST_TEXTS = 2
_COLUMNS = ["headword", "definition"]
_EMPTY_ROWS = [["", ""]] * 3
# A click on an element with a `data-index` is an event with its number.
_CLICKS = """
element.addEventListener('click', event => {
  const found = event.target.closest('[data-index]');
  if (found) trigger('select', {index: Number(found.dataset.index)});
});
"""
_SCORES = {
    "bleu": "BLEU",
    "rouge1": "ROUGE-1",
    "exact_match": "exact match",
    "accuracy": "accuracy",
    "perplexity": "perplexity",
}


def mount(app, models):
    """Adds the page to a FastAPI app, at its root.

    Args:
        app: `FastAPI`.
        models: `Models`.

    Returns:
        The app.
    """
    return gr.mount_gradio_app(
        app,
        build(models),
        path="/",
        theme=_theme(),
        css=_STYLE.read_text(encoding="utf-8"),
        footer_links=[],
        run_history=False,
        show_error=True,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        enable_monitoring=False,
    )


def _theme():
    """Returns the theme: Gradio's own parts, styled like `style.css`."""
    theme = gr.themes.Base(
        neutral_hue="gray",
        radius_size="md",
        font=_FONTS,
        font_mono=_MONO_FONTS,
    )
    colours = {
        "body_background_fill": "page",
        "body_text_color": "ink",
        "block_background_fill": "card",
        "block_label_text_color": "quiet",
        "block_title_text_color": "quiet",
        "border_color_primary": "line",
        "border_color_accent": "accent",
        "input_background_fill": "page",
        "input_border_color": "line",
        "input_border_color_focus": "accent",
        "table_even_background_fill": "card",
        "table_odd_background_fill": "page",
        "table_border_color": "line",
        "button_primary_background_fill": "button",
        "button_primary_background_fill_hover": "accent",
        "loader_color": "accent",
    }
    values = {}
    for name, colour in colours.items():
        values[name] = values[f"{name}_dark"] = f"var(--tfc-{colour})"
    # Both modes share the loader.
    del values["loader_color_dark"]
    return theme.set(
        **values, button_primary_text_color="white", input_border_width="1px"
    )


def build(models) -> gr.Blocks:
    """Builds the page.

    Args:
        models: `Models`.
    """
    names = list(models.choices())
    html = functools.partial(gr.HTML, apply_default_css=False)
    private = {"api_visibility": "private"}
    with gr.Blocks(title=_TITLE, analytics_enabled=False) as page:
        found = gr.State(None)  # of the last answer
        html(
            f"<h1>{_TITLE}</h1><p>Type a text, or click an example, and see "
            "where the answer comes from.</p>",
            elem_classes="tfc-head",
        )
        choice = gr.Dropdown(names, value=names[0], label="Model")
        facts = html(elem_classes="tfc-facts")
        texts = [
            gr.Textbox(
                label="Text",
                lines=1,
                max_lines=12,
                visible=i == 0,
                elem_id=f"tfc-text-{i}",
                autofocus=i == 0,
            )
            for i in range(_MOST_TEXTS)
        ]
        with gr.Accordion(
            "Your dictionary", open=True, visible=False
        ) as dictionary:
            rows = gr.Dataframe(
                _EMPTY_ROWS,
                headers=_COLUMNS,
                datatype="str",
                type="array",
                column_count=2,
                column_widths=["25%", "75%"],
                interactive=True,
                wrap=True,
                buttons=[],
                show_label=False,
                elem_id="tfc-dictionary",
            )
        with gr.Row():
            button = gr.Button("Answer", variant="primary", scale=0)
            examples = html(
                elem_classes="tfc-examples", js_on_load=_CLICKS, scale=1
            )
        result = html(elem_classes="tfc-result", js_on_load=_CLICKS)

        handlers = _Handlers(models)
        fields = [facts, *texts, dictionary, examples, result, found]
        ask = {
            "fn": handlers.ask,
            "inputs": [choice, rows, *texts],
            "outputs": [result, found],
            **private,
        }
        page.load(handlers.refresh, choice, choice, **private)
        gr.on(
            [page.load, choice.change],
            handlers.choose,
            choice,
            fields,
            trigger_mode="always_last",
            **private,
        )
        gr.on([button.click, *(text.submit for text in texts)], **ask)
        filled = examples.select(handlers.example, choice, texts, **private)
        filled.then(**ask)
        result.select(handlers.show, found, result, **private)
    return page


class _Handlers:
    """Event handlers of the page; errors are shown in one line."""

    def __init__(self, models):
        self.models = models

    def refresh(self, choice):
        """Lists the current models."""
        names = list(self.models.choices())
        if choice not in names:
            choice = names[0] if names else None
        return gr.Dropdown(names, value=choice)

    def choose(self, choice):
        """Shows the fields of the chosen model."""
        try:
            model = self.models.load(choice)
            names = demo_server.text_names(model)
            if len(names) > _MOST_TEXTS:
                raise AskError(
                    f"{model.name}: the page has {_MOST_TEXTS} fields, but the "
                    f"model reads {len(names)} texts: {', '.join(names)}."
                )
        except AskError as error:
            hidden = [gr.Textbox(visible=False)] * _MOST_TEXTS
            failed = demo_html.error(error)
            return ["", *hidden, gr.Accordion(visible=False), "", failed, None]
        # Without a value, so that text typed in the meantime stays.
        texts = [
            gr.Textbox(label=name.capitalize(), visible=True) for name in names
        ]
        texts += [gr.Textbox(visible=False)] * (_MOST_TEXTS - len(names))
        takes = demo_server.takes_dictionary(model)
        number = model.config.get("num_headwords", 0)
        title = f"Your dictionary, beside the model's of {number:,} headwords"
        return [
            _facts(choice, model.config),
            *texts,
            gr.Accordion(label=title, visible=takes),
            _example_buttons(demo_server.examples_of(model)),
            "",
            None,
        ]

    def example(self, choice, event: gr.EventData):
        """Fills in the texts of an example."""
        try:
            examples = demo_server.examples_of(self.models.load(choice))
            texts = list(examples[event.index].values())
        except (AskError, IndexError):
            texts = []
        return texts + [""] * (_MOST_TEXTS - len(texts))

    def ask(self, choice, rows, *texts):
        """Shows the answer to a text, and stores its hypotheses."""
        try:
            model = self.models.load(choice)
            names = demo_server.text_names(model)
            texts = {name: x or "" for name, x in zip(names, texts)}
            outputs = demo_server.analyse(model, texts, rows)
            if "copied_from" in outputs:
                (text,) = texts.values()
                found = demo_answers.read(
                    text, outputs, model.config.get("pieces", {})
                )
                return demo_answers.show(found), found
            headwords = [row[0] for row in rows if row[0]]
            shown = demo_texts.show(texts, outputs, model.config, headwords)
            return shown, None
        except AskError as error:
            return demo_html.error(error), None

    def show(self, found, event: gr.EventData):
        """Shows another hypothesis."""
        if found is None:
            return gr.skip()
        return demo_answers.show(found, event.index)


def _facts(choice, config):
    parts = [config.get("system")]
    parts += [
        f"{title} {config[name]:.1f}"
        for name, title in _SCORES.items()
        if isinstance(config.get(name), (int, float))
    ]
    for name in ("source_vocabulary_size", "text_vocabulary_size"):
        if name in config:
            parts.append(f"vocabulary of {config[name]:,} words")
    if "search" in config:
        parts.append(f"{config['search'].get('num_beams')} beams")
    if "created" in config:
        parts.append(f"exported {config['created'][:10]}")
    facts = demo_html.escape(" · ".join(filter(None, parts)))
    return f'<span data-model="{demo_html.escape(choice)}">{facts}</span>'


def _example_buttons(examples):
    if not examples:
        return ""
    buttons = []
    for i, example in enumerate(examples):
        longest = 60 if len(example) == 1 else 34
        title = " / ".join(example.values())
        text = " / ".join(
            demo_html.shortened(x, longest) for x in example.values()
        )
        buttons.append(
            f'<li><button type="button" data-index="{i}" dir="auto" '
            f'title="{demo_html.escape(title)}">{demo_html.escape(text)}'
            "</button></li>"
        )
    return f"<ul>{''.join(buttons)}</ul>"
