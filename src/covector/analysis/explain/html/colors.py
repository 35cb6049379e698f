"""The colours of source lines: pieces of text and what each of them is."""

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

# The first that a token belongs to decides; class names are those of ``page.css``.
_CLASSES = (
    (Keyword, "keyword"),
    (Operator.Word, "keyword"),
    (Name.Function, "name"),
    (String, "string"),
    (Number, "number"),
    (Comment, "comment"),
)

_lexer = PythonLexer(stripnl=False, ensurenl=False)


def tokens(source: str) -> list[list[str]]:
    """The pieces of one line, as [class, text]; plain text has no class."""
    pieces: list[list[str]] = []
    for kind, text in _lexer.get_tokens(source):
        of = next((name for group, name in _CLASSES if kind in group), "")
        if pieces and pieces[-1][0] == of:
            pieces[-1][1] += text
        else:
            pieces.append([of, text])
    return pieces
