"""Options by their names in the field."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import covector as cv
from covector import options
from covector.compat import config as blocks
from covector.compat.config import FIXED, IGNORED, config, from_environment
from covector.errors import SettingError, UnknownOption


@pytest.fixture
def restored():
    before = {name: config.read(name) for name in options.names()}
    yield
    options.update(**before)


@pytest.mark.usefixtures("restored")
def test_an_option_is_covectors_under_the_name_of_the_field():
    config.update("jax_numpy_rank_promotion", "raise")
    assert cv.config.read("numpy_rank_promotion") == "raise"
    assert config.jax_numpy_rank_promotion == "raise"
    assert config.values["jax_numpy_rank_promotion"] == "raise"


def test_an_option_without_meaning_here_keeps_what_it_was_set_to():
    config.update("jax_logging_level", "DEBUG")
    assert config.jax_logging_level == "DEBUG"
    config.update("jax_logging_level", IGNORED["logging_level"])
    with blocks.softmax_custom_jvp(True):
        assert config.jax_softmax_custom_jvp
    assert not config.jax_softmax_custom_jvp


@pytest.mark.usefixtures("restored")
def test_the_filtering_of_tracebacks_is_on_or_off():
    config.update("jax_traceback_filtering", "remove_frames")
    assert config.jax_traceback_filtering == "auto"
    assert cv.config.traceback == "filtered"
    from_environment({"JAX_TRACEBACK_FILTERING": "off"})
    assert config.jax_traceback_filtering == "off"
    assert cv.config.traceback == "full"


def test_an_option_with_one_value_refuses_others_and_says_what_to_do():
    config.update("jax_legacy_prng_key", "allow")
    with pytest.raises(SettingError, match="as 'allow' only, but got 'error'"):
        config.update("jax_legacy_prng_key", "error")
    with (
        pytest.raises(SettingError, match="eval_shape runs nothing"),
        blocks.no_execution(True),
    ):
        pass


def test_an_unknown_option_is_an_error_with_the_nearest_name():
    with pytest.raises(UnknownOption, match="Did you mean 'enable_x64'") as caught:
        config.update("jax_enable_x6", True)
    assert isinstance(caught.value, AttributeError)  # what programs guard against
    assert not hasattr(config, "jax_enable_x6")


def test_no_option_is_of_two_kinds():
    assert not set(IGNORED) & set(FIXED)
    assert not {*IGNORED, *FIXED} & set(options.names())


@pytest.mark.usefixtures("restored")
def test_variables_of_the_field_set_options_unless_one_of_covector_does():
    from_environment({"JAX_NUMPY_RANK_PROMOTION": "warn", "JAX_DEBUG_NANS": "1"})
    assert config.jax_numpy_rank_promotion == "warn" and config.jax_debug_nans
    from_environment({"JAX_DEBUG_NANS": "0", "COVECTOR_DEBUG_NANS": "1"})
    assert config.jax_debug_nans
    with pytest.raises(SettingError, match="as 'allow' only"):
        from_environment({"JAX_LEGACY_PRNG_KEY": "error"})
    from_environment({"JAX_TRACER_ERROR_NUM_TRACEBACK_FRAMES": "7"})
    assert config.jax_tracer_error_num_traceback_frames == 7
    config.update("jax_tracer_error_num_traceback_frames", 5)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("JAX_ENABLE_X64", "one of false, true"),
        ("JAX_THREAD_GUARD", "one of false, true"),
        ("JAX_RANDOM_SEED_OFFSET", "a number"),
    ],
)
def test_a_variable_of_the_field_with_an_impossible_value_is_named(name, words):
    with pytest.raises(SettingError, match=f"{name} must be {words}.*, but is 'maybe'"):
        from_environment({name: "maybe"})


def test_checks_of_programs_are_an_option_of_the_field():
    before = config.jax_enable_checks
    with blocks.enable_checks(not before):
        assert options.settings.check_programs is not before
    assert options.settings.check_programs is before


def test_the_page_lists_every_option_without_a_counterpart():
    page = Path(__file__).parents[2] / "docs" / "run-your-jax-program.md"
    text = page.read_text()
    assert not [name for name in (*IGNORED, *FIXED) if f"`{name}`" not in text]


def test_options_are_flags_of_absl_where_there_is_one(monkeypatch, restored):
    flags, later = _Flags(), []
    app = SimpleNamespace(call_after_init=later.append)
    for name, module in {
        "": SimpleNamespace(app=app, flags=flags),
        ".app": app,
    }.items():
        monkeypatch.setitem(sys.modules, f"absl{name}", module)
    arguments = ["program", "x", "--jax_debug_nans", "--jax_numpy_rank_promotion=warn"]
    monkeypatch.setattr(sys, "argv", arguments)
    config.parse_flags_with_absl()
    assert config.jax_debug_nans and config.jax_numpy_rank_promotion == "warn"
    flags.FLAGS["jax_debug_nans"].value = False
    later[0]()
    assert not config.jax_debug_nans


class _Flags:
    """As much of ``absl.flags`` as is used."""

    def __init__(self):
        self.FLAGS = _Values()

    def DEFINE_string(self, name, default, _):
        self.FLAGS[name] = SimpleNamespace(value=default)

    DEFINE_boolean = DEFINE_string


class _Values(dict):
    def __call__(self, arguments, known_only):
        assert known_only
        for argument in arguments[1:]:
            name, _, text = argument.removeprefix("--").partition("=")
            self[name].value = text or True
