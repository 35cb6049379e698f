"""Elements of HTML, in which all text is escaped, and the style that they share.

element("p", "1 < 2", element("b", "!"))   →   <p>1 &lt; 2<b>!</b></p>
"""

from html import escape

# Backgrounds are translucent and text inherits its colour. The few colours of text have
# a contrast of 4.5 to white; pages that say that they are dark get lighter ones.
_STYLE = """
.covector { --strong: #1d63c4; --type: #0b7a75; --number: #b3400b;
  --edge: rgba(128,128,128,.35); --tint: rgba(128,128,128,.09);
  font: 13px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
[data-jp-theme-light="false"] .covector, .vscode-dark .covector,
[data-theme="dark"] .covector, [theme="dark"] .covector,
[data-md-color-scheme="slate"] .covector {
  --strong: #82b1ff; --type: #5cc8bd; --number: #f2a071; }
.covector pre, .covector .line, .covector .grid {
  font: 12px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.covector pre { margin: 0; padding: 0; border: 0; color: inherit; background: none;
  white-space: pre; overflow-x: auto; }
.covector .soft, .covector .source, .covector figcaption { opacity: .72; }
.covector .row { display: flex; flex-wrap: wrap; gap: .3rem .9rem; margin: .3rem 0;
  align-items: flex-end; }
.covector figure { margin: 0; }
.covector figcaption { font-size: 11px; }
.covector img { image-rendering: pixelated; display: block; margin: 0;
  border: 1px solid var(--edge); box-sizing: content-box; }
.covector svg { width: 100%; max-width: 360px; height: auto; display: block; }
.covector .scale { display: inline-block; width: 7rem; height: .6rem;
  margin: 0 .4rem; border: 1px solid var(--edge); vertical-align: baseline; }
.covector .grid { overflow-x: auto; }
.covector .grid table { border-collapse: collapse; margin: .3rem 0; width: auto;
  font: inherit; }
.covector .grid tr:nth-child(n) { background: none; }
.covector .grid th, .covector .grid td { padding: .2rem .6rem; border: 0;
  text-align: center; font-weight: 400; color: inherit; }
.covector .grid td { border: 1px solid var(--edge); }
.covector .program { background: var(--tint); border: 1px solid var(--edge);
  border-radius: 6px; padding: .5rem .7rem; max-height: 36rem; overflow: auto; }
.covector .line { display: flex; flex-wrap: wrap; gap: 0 1.5rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.covector .equation { flex: 3 1 19rem; min-width: 0; text-indent: -4ch; }
.covector .source { flex: 2 1 12rem; min-width: 0; }
.covector .strong { color: var(--strong); font-weight: 600; }
.covector .type { color: var(--type); }
.covector .number { color: var(--number); }
"""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str) -> Html:
    """An element; children that are not ``Html`` are escaped, as attributes are.

    ``class_`` is the attribute ``class``.
    """
    shown = "".join(
        f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{shown}>{joined(*children)}</{name}>")


def joined(*children: str) -> Html:
    """Children one after the other, escaped unless they are ``Html``."""
    return Html("".join(c if type(c) is Html else escape(c) for c in children))


def fragment(*children: str) -> str:
    """The whole of what is shown of one object, with its style."""
    # A plain string: IPython keeps nothing else.
    style = element("style", Html(_STYLE))
    return str(element("div", style, *children, class_="covector"))
