"""What users see of their mistakes: their lines, and a message, on a page or less."""

import json
import re
import statistics

import pytest

from covector.message_lines import WIDTH
from tests.anomalies.mistakes import MISTAKES
from tests.runtime.programs import output_of

RUN = "import runpy, sys; sys.argv[1:] = [{!r}]; runpy.run_module({!r}, run_name={!r})"
#: what Python draws under a line differs between its versions
UNDERLINED = re.compile(r"^ +[~^]+$\n", re.MULTILINE)
#: and so do addresses between runs
ADDRESS = re.compile(r"0x[0-9a-f]{8,}")


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> dict[str, str]:
    """What a terminal shows, by the name of the program."""
    folder = str(tmp_path_factory.mktemp("mistakes"))
    code = RUN.format(folder, "tests.anomalies.terminal", "__main__")
    shown = json.loads(output_of(code, COVECTOR_NUM_CPU_DEVICES="4"))
    return {name: ADDRESS.sub("0x…", text) for name, text in shown.items()}


def test_mistakes_print_what_they_did(printed, golden):
    texts = [f"# {name}\n{UNDERLINED.sub('', text)}" for name, text in printed.items()]
    golden("mistakes.txt", "\n".join(texts))


def test_there_are_sixty_seven_and_each_ends_with_an_exception(printed):
    assert len(printed) == len(MISTAKES) == 67
    assert [name for name, text in printed.items() if not text] == []


def test_no_frame_but_the_users_is_printed(printed):
    text = "".join(printed.values())
    assert set(re.findall(r'^ +File "([^"]*)"', text, re.MULTILINE)) == {"train.py"}


def test_the_median_is_at_most_ten_lines_and_the_worst_twenty(printed):
    lines = {name: len(text.splitlines()) for name, text in printed.items()}
    assert statistics.median(lines.values()) <= 10
    assert max(lines.values()) <= 20, max(lines, key=lambda name: lines[name])


def test_messages_are_in_lines_of_at_most_a_hundred_characters(printed):
    for name, text in printed.items():
        _, found, message = text.rpartition("\ncovector.errors.")
        lines = message.partition(": ")[2].splitlines()
        assert not found or max(map(len, lines)) <= WIDTH, name
