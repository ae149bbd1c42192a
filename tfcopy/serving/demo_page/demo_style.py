"""Colours and type of the page, light and dark."""

# Saturation and lightness, in percent, of the colours of copied words; each
# word has its own hue.
LIGHT = {"back": (88, 89), "text": (90, 14), "line": (72, 32)}
DARK = {"back": (48, 22), "text": (88, 90), "line": (62, 62)}

FONTS = ["system-ui", "Segoe UI", "Roboto", "Noto Sans", "sans-serif"]
MONO_FONTS = ["ui-monospace", "Consolas", "DejaVu Sans Mono", "monospace"]


def _hsl(colours, name):
    saturation, lightness = colours[name]
    return f"hsl(var(--h) {saturation}% {lightness}%)"


def _copied(colours):
    return (
        f"background: {_hsl(colours, 'back')}; "
        f"color: {_hsl(colours, 'text')}; "
        f"--line: {_hsl(colours, 'line')};"
    )


CSS = f"""
:root {{
  --tfc-ink: #1c1f26; --tfc-quiet: #5b6270; --tfc-faint: #868d99;
  --tfc-line: #e3e6eb; --tfc-card: #ffffff; --tfc-page: #f6f7f9;
  --tfc-map: 49 74 160; --tfc-accent: #314aa0; --tfc-soft: #eef1fa;
  --tfc-answer: #ffe9a8; --tfc-answer-line: #b98900; --tfc-answer-ink: #2d2200;
  --tfc-heat: 214 84 40; --tfc-start: 13 122 104; --tfc-end: 176 58 120;
  --tfc-button: #3b57b8; --tfc-own: #a5430b;
  --tfc-bad: #b42318; --tfc-bad-back: #fef1ef;
}}
.dark {{
  --tfc-ink: #e8eaef; --tfc-quiet: #a4acba; --tfc-faint: #7d8594;
  --tfc-line: #2d323d; --tfc-card: #181b22; --tfc-page: #0f1116;
  --tfc-map: 132 160 255; --tfc-accent: #9db2ff; --tfc-soft: #222838;
  --tfc-answer: #5a4700; --tfc-answer-line: #e0b93c; --tfc-answer-ink: #fff3cf;
  --tfc-heat: 214 90 48; --tfc-start: 66 200 178; --tfc-end: 240 130 190;
  --tfc-button: #4a66cc; --tfc-own: #ffab73;
  --tfc-bad: #ff9d92; --tfc-bad-back: #3a1d1a;
}}
.gradio-container {{
  width: 100%; max-width: 1080px !important; margin: 0 auto;
}}
.gradio-container main, .gradio-container .wrap, .gradio-container .column {{
  min-width: 0 !important; max-width: 100%;
}}
.html-container {{ padding: 0 !important; }}
.tfc-result, .tfc-head, .tfc-facts, .tfc-examples {{
  color: var(--tfc-ink); font-size: 15px; line-height: 1.5;
}}
.tfc-head h1 {{
  font-size: 24px; font-weight: 650; letter-spacing: -0.01em;
  margin: 8px 0 2px;
}}
.tfc-head p {{ color: var(--tfc-quiet); margin: 0; max-width: 70ch; }}
.tfc-facts {{ color: var(--tfc-quiet); font-size: 13px; }}
.tfc-examples ul {{
  display: flex; flex-wrap: wrap; gap: 8px; list-style: none; padding: 0;
  margin: 0; align-items: baseline;
}}
.tfc-examples {{ min-width: 0 !important; }}
.tfc-examples li {{ min-width: 0; max-width: 100%; }}
.tfc-examples button {{
  border: 1px solid var(--tfc-line); border-radius: 16px; padding: 3px 12px;
  background: var(--tfc-card); color: var(--tfc-ink); font-size: 13px;
  max-width: 100%; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; cursor: pointer;
}}
.tfc-examples button:hover, .tfc-examples button:focus-visible {{
  border-color: var(--tfc-accent); background: var(--tfc-soft);
}}
#tfc-dictionary * {{ font-family: inherit; }}
.tfc-section {{
  background: var(--tfc-card); border: 1px solid var(--tfc-line);
  border-radius: 10px; padding: 14px 18px 16px; margin: 0 0 14px;
  min-width: 0; overflow-wrap: anywhere;
}}
.tfc-section h3 {{
  font-size: 13px; font-weight: 650; margin: 0 0 8px; color: var(--tfc-ink);
  display: flex; flex-wrap: wrap; gap: 0 12px; align-items: baseline;
}}
.tfc-hint {{ font-weight: 400; color: var(--tfc-quiet); }}
.tfc-pair {{ display: grid; gap: 0 14px; grid-template-columns: 1fr 1fr; }}
@media (max-width: 760px) {{ .tfc-pair {{ grid-template-columns: 1fr; }} }}
.tfc-text {{
  font-size: 18px; line-height: 1.75; margin: 0; white-space: pre-wrap;
}}
.tfc-large {{ font-size: 22px; }}
.tfc-faint {{ color: var(--tfc-faint); }}
.tfc-note, .tfc-legend {{
  color: var(--tfc-quiet); font-size: 13px; margin: 0 4px 14px;
}}
.tfc-section .tfc-note {{ margin: 0 0 8px; }}
.tfc-error {{
  color: var(--tfc-bad); background: var(--tfc-bad-back); margin: 0 0 14px;
  border: 1px solid currentColor; border-radius: 10px; padding: 10px 16px;
  overflow-wrap: anywhere;
}}
.tfc-result mark, .tfc-legend mark {{ background: none; color: inherit; }}

.tfc-result .tfc-copied {{
  {_copied(LIGHT)}
  border-radius: 4px; padding: 1px 4px; margin: 0 -1px;
  box-shadow: inset 0 -2px 0 var(--line);
  box-decoration-break: clone; -webkit-box-decoration-break: clone;
}}
.dark .tfc-result .tfc-copied {{ {_copied(DARK)} }}
.tfc-text .tfc-copied::after, .tfc-legend .tfc-copied::after {{
  content: attr(data-from); font-size: 0.58em; vertical-align: super;
  margin-inline-start: 2px; line-height: 0; unicode-bidi: isolate;
  opacity: 0.85;
}}

.tfc-choices {{
  list-style: none; margin: 0 -8px; padding: 0; max-height: 330px;
  overflow: auto;
}}
.tfc-choice {{
  display: flex; gap: 14px; width: 100%; text-align: start; border: 0;
  background: none; color: var(--tfc-ink); font: inherit; cursor: pointer;
  padding: 5px 8px; border-radius: 6px; align-items: baseline;
}}
.tfc-choice:hover {{ background: var(--tfc-soft); }}
.tfc-choice[aria-pressed=true] {{
  background: var(--tfc-soft);
  box-shadow: inset 3px 0 0 var(--tfc-accent);
}}
.tfc-score {{
  color: var(--tfc-quiet); font-variant-numeric: tabular-nums; flex: none;
  width: 4.2em; text-align: end;
}}

.tfc-switches {{
  display: flex; flex-wrap: wrap; gap: 10px 12px; list-style: none;
  margin: 0; padding: 0;
}}
.tfc-switches li {{
  display: flex; flex-direction: column; gap: 4px; min-width: 46px;
  max-width: 220px;
}}
.tfc-switches small {{ color: var(--tfc-quiet); font-size: 11px; }}
.tfc-switches span.tfc-copied {{ align-self: start; margin: 0; }}
.tfc-switch, .tfc-bar i {{
  display: block; height: 8px; border-radius: 4px;
  background: linear-gradient(to right,
    var(--tfc-accent) calc(var(--p) * 100%), var(--tfc-line) 0);
}}

.tfc-scroll {{ overflow: auto; max-height: 760px; }}
.tfc-map {{ border-collapse: separate; border-spacing: 1px; font-size: 13px; }}
.tfc-map th {{ font-weight: 400; background: var(--tfc-card); padding: 0; }}
.tfc-map thead th {{
  position: sticky; top: 0; z-index: 1; vertical-align: bottom;
  padding: 0 0 5px; writing-mode: vertical-rl; text-align: end;
  white-space: nowrap;
}}
.tfc-map thead th span {{ display: inline-block; }}
.tfc-map thead th:first-child {{ left: 0; z-index: 2; }}
.tfc-map tbody th {{
  position: sticky; left: 0; z-index: 1; text-align: end;
  padding-inline-end: 7px; white-space: nowrap;
}}
.tfc-map thead .tfc-copied {{
  padding: 4px 1px; margin: 0; box-shadow: inset 2px 0 0 var(--line);
}}
.tfc-map td {{ padding: 0; background: rgb(var(--tfc-map) / 0.05); }}
.tfc-map td i {{
  display: block; width: 26px; height: 24px;
  background: rgb(var(--tfc-map) / var(--p));
}}
.tfc-map td:empty::before {{ content: ""; display: block; width: 26px; }}
.tfc-map td.tfc-framed i {{
  outline: 3px solid {_hsl(LIGHT, "line")}; outline-offset: -3px;
}}
.dark .tfc-map td.tfc-framed i {{ outline-color: {_hsl(DARK, "line")}; }}
.tfc-map .tfc-gap {{ border-left: 2px dashed var(--tfc-faint); }}

.tfc-bars {{ width: 100%; border-collapse: collapse; font-size: 15px; }}
.tfc-bars th {{
  font-weight: 400; text-align: start; padding: 4px 14px 4px 0;
  white-space: nowrap; width: 1%;
}}
.tfc-bars td {{ padding: 4px 0; }}
.tfc-bars .tfc-value {{
  width: 5em; text-align: end; color: var(--tfc-quiet);
  font-variant-numeric: tabular-nums;
}}
.tfc-bars th .tfc-faint {{ font-size: 12px; }}
.tfc-bars .tfc-marked th {{ font-weight: 650; }}

.tfc-result .tfc-answer, .tfc-legend .tfc-answer {{
  background: var(--tfc-answer); color: var(--tfc-answer-ink);
  border-radius: 4px; padding: 2px 4px; margin: 0 -2px;
  box-shadow: inset 0 -2px 0 var(--tfc-answer-line);
  box-decoration-break: clone; -webkit-box-decoration-break: clone;
}}
.tfc-result .tfc-begin {{
  border-inline-start: 4px solid rgb(var(--tfc-start) / var(--s));
  border-start-start-radius: 4px; border-end-start-radius: 4px;
  padding-inline-start: 2px;
}}
.tfc-result .tfc-end {{
  border-inline-end: 4px solid rgb(var(--tfc-end) / var(--e));
  border-start-end-radius: 4px; border-end-end-radius: 4px;
  padding-inline-end: 2px;
}}
.tfc-result .tfc-heat {{
  background: rgb(var(--tfc-heat) / calc(var(--p) * 0.42));
  border-radius: 4px; padding: 2px 2px;
}}
.tfc-unknown {{
  text-decoration: underline wavy 1px; text-underline-offset: 4px;
}}
.tfc-defined {{
  text-decoration: underline dotted 2px; text-underline-offset: 4px;
  text-decoration-color: var(--tfc-accent);
}}
.tfc-own {{ text-decoration-style: double; color: var(--tfc-own); }}
.tfc-own {{ text-decoration-color: var(--tfc-own); }}
"""
