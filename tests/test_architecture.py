"""ARCHITECTURE.md and its companions name files and identifiers: all of them exist."""

import ast
import functools
import keyword
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "covector"
#: a path in prose starts in one of these
STARTS = (SOURCE, ROOT, ROOT / "docs")
DOCUMENTS = [
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs" / "internals").glob("*.md")),
]

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`]+)`")
PATH = re.compile(r"([\w.]+/)*[\w.]*(/|\.py|\.md|\.toml)")
NAMED = re.compile(rf"({PATH.pattern}): ([\w.]+)")
LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")
IDENTIFIER = re.compile(r"([A-Za-z_]\w*)(\.[A-Za-z_]\w*)*(\(.*\))?")
#: comments that loosen the checks of types for more than one rule on one line
LOOSER = re.compile(r"# *(pyright:(?! *ignore\[)|type: *ignore(?!\[)|mypy:).*")
#: what is not a name of ours: Python's words, and the operations of compilers
FOREIGN = {*keyword.kwlist}
DIALECTS = ("sdy.", "stablehlo.")

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=[d.stem for d in DOCUMENTS]
)


@each_document
def test_every_path_in_the_document_exists(document):
    missing = [p for p in quoted_paths(document) if not locate(p)]
    assert not missing, f"{document.name} names {', '.join(missing)}"


@each_document
def test_every_name_given_with_a_path_is_defined_there(document):
    missing = []
    for text in quoted(document):
        named = NAMED.fullmatch(text)
        if named is not None:
            path, name = named[1], named[named.re.groups]
            if not any(name in definitions(file) for file in locate(path)):
                missing.append(text)
    assert not missing, f"{document.name} names {', '.join(missing)}"


@each_document
def test_every_identifier_in_the_document_is_one_of_the_source(document):
    known = identifiers() | FOREIGN | defined_in_examples(document)
    names = [t for t in quoted(document) if IDENTIFIER.fullmatch(t)]
    ours = [n for n in names if not (n.startswith(DIALECTS) or PATH.fullmatch(n))]
    missing = [n for n in ours if not known.issuperset(words(n))]
    assert not missing, f"{document.name} names {', '.join(missing)}"


@each_document
def test_every_link_of_the_document_leads_somewhere(document):
    text = FENCE.sub("", read(document))
    targets = [found[1] for found in LINK.finditer(text)]
    missing = [t for t in targets if not (document.parent / t).exists()]
    assert not missing, f"{document.name} links to {', '.join(missing)}"


def test_every_room_of_the_package_has_a_line():
    rooms = [f.parent.name for f in SOURCE.glob("*/__init__.py")]
    text = read(DOCUMENTS[0])
    missing = [room for room in rooms if f"`{room}/`" not in text]
    assert not missing, f"ARCHITECTURE.md does not name {', '.join(sorted(missing))}"


def test_the_floors_of_programs_are_those_of_the_import_contract():
    project = tomllib.loads(read(ROOT / "pyproject.toml"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(
        c["layers"] for c in contracts if c.get("containers") == ["covector.programs"]
    )
    wanted = {
        (len(layers) - k, room)
        for k, layer in enumerate(layers)
        for room in layer.split(" : ")
    }
    rows = re.findall(r"^\| (\d) \| `(\w+)/` \|", read(DOCUMENTS[0]), re.M)
    assert {(int(floor), room) for floor, room in rows} == wanted


def test_every_module_that_changes_its_own_objects_is_in_the_table_of_state():
    text = read(DOCUMENTS[0])
    layers = text.partition("## The layers")[2].partition("\n## ")[0]
    state = text.partition("\n## State")[2].partition("\n## ")[0]
    listed = {f for path in quoted_paths_in(layers + state) for f in locate(path)}
    changing = {file: changed_globals(file) for file in SOURCE.rglob("*.py")}
    missing = [
        f"{file.relative_to(SOURCE)}: {', '.join(sorted(names))}"
        for file, names in changing.items()
        if names and file not in listed
    ]
    assert not missing, "\n".join(missing)


def test_the_glossary_has_at_most_forty_nouns_each_once():
    nouns = re.findall(r"^\| \*\*([\w ]+)\*\*", read(DOCUMENTS[0]), re.MULTILINE)
    assert len(nouns) == len({*nouns}) <= 40


@pytest.mark.parametrize("room", ["core", "transforms"])
def test_every_file_of_the_strict_rooms_is_checked_strictly(room):
    project = tomllib.loads(read(ROOT / "pyproject.toml"))
    assert f"src/covector/{room}" in project["tool"]["pyright"]["strict"]
    exempt = [
        f"{file.relative_to(SOURCE)}: {found[0]}"
        for file in (SOURCE / room).rglob("*.py")
        for found in LOOSER.finditer(read(file))
    ]
    assert not exempt, "\n".join(exempt)


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def quoted(document: Path) -> list[str]:
    """The texts in backticks outside of code blocks, without line breaks."""
    return quoted_in(read(document))


def quoted_in(text: str) -> list[str]:
    prose = FENCE.sub("", text)
    return [" ".join(quote.split()) for quote in QUOTED.findall(prose)]


def quoted_paths(document: Path) -> list[str]:
    """The paths in backticks; of ``operations/SUBJECT.py`` the folder."""
    return quoted_paths_in(read(document))


def quoted_paths_in(text: str) -> list[str]:
    found = [quote.partition(":")[0] for quote in quoted_in(text)]
    paths = [p for p in found if PATH.fullmatch(p) and p != "/"]
    return [p.partition("SUBJECT")[0] for p in paths]


def locate(path: str) -> list[Path]:
    """The files that a path in prose may mean; a bare name may be in any folder."""
    found = [start / path for start in STARTS if (start / path).exists()]
    if not found and path.count("/") == path.endswith("/"):
        found = list(SOURCE.rglob(path.rstrip("/")))
    return found


@functools.cache
def definitions(file: Path) -> set[str]:
    """Functions, classes, constants of a module, and ``Class.member``."""
    found = set()
    for node in ast.parse(read(file)).body:
        found.update(bound(node))
        if isinstance(node, ast.ClassDef):
            found.update(
                [f"{node.name}.{m}" for part in node.body for m in bound(part)]
            )
    return found


def bound(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    one = [getattr(node, "target", None)]
    targets = node.targets if isinstance(node, ast.Assign) else one
    return [t.id for t in targets if isinstance(t, ast.Name)]


@functools.cache
def identifiers() -> frozenset[str]:
    """Every name that the code has: not what only stands in comments and strings."""
    found = set()
    for file in SOURCE.rglob("*.py"):
        found.add(file.stem)
        found.update(file.parent.relative_to(ROOT).parts)
        for node in ast.walk(ast.parse(read(file))):
            for field in ("name", "id", "attr", "arg"):
                value = getattr(node, field, None)
                if isinstance(value, str):
                    found.update(value.split("."))
    return frozenset(found)


def defined_in_examples(document: Path) -> set[str]:
    """Words of the code blocks, which the prose may speak of."""
    blocks = FENCE.findall(read(document))
    return set(re.findall(r"\w+", " ".join(blocks)))


def words(name: str) -> list[str]:
    """The parts of ``a.b(c)`` that are names: a and b."""
    return name.partition("(")[0].split(".")


#: methods that change what they are called on
CHANGING = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "insert"),
    *("move_to_end", "pop", "popitem", "popleft", "remove", "setdefault", "update"),
}


def changed_globals(file: Path) -> set[str]:
    """The objects of a module that its functions change."""
    tree = ast.parse(read(file))
    values = (ast.Assign, ast.AnnAssign)
    held = [n for n in tree.body if isinstance(n, ast.ClassDef)]
    names = {n.name for n in held}
    for node in tree.body:
        if isinstance(node, values) and node.value is not None:
            targets = getattr(node, "targets", None) or [node.target]
            names |= {t.id for t in targets if isinstance(t, ast.Name)}
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = set()
    for function in ast.walk(tree):
        if isinstance(function, functions):
            own = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
            found |= {name for name in changed_names(function) if name not in own}
    return found & names


def changed_names(function: ast.AST) -> set[str]:
    """The names of objects of which a function sets parts, or calls such a method."""
    found: set[str | None] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute | ast.Subscript):
            if isinstance(node.ctx, ast.Store | ast.Del):
                found.add(name_of_object(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in CHANGING:
                found.add(name_of_object(node.func.value))
        elif isinstance(node, ast.Global):
            found.update(node.names)
    return {name for name in found if name is not None}


def name_of_object(node: ast.AST) -> str | None:
    """``x`` of ``x``, ``x.y`` and ``x[y]``, to any depth."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
