"""Options: for the process, for a thread, and as part of what a program depends on."""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, options
from covector.core.source import user_line
from covector.errors import SettingError, StaticArgumentError


@pytest.fixture(autouse=True)
def unchanged():
    before = options.current()
    yield
    assert options.current() is before


# -- values ----------------------------------------------------------------------------


def test_equal_options_are_one_object():
    before = options.current()
    with options.override(enable_x64=True):
        inside = options.current()
        assert inside is not before
        with options.override(enable_x64=False):
            assert options.current() is before
    with options.override(enable_x64=True):
        assert options.current() is inside


def test_blocks_nest_and_end_after_an_error():
    with cv.enable_x64():
        with cv.enable_x64(False):
            assert cnp.ones(1).dtype == "float32"
        assert cnp.ones(1).dtype == "float64"
        with pytest.raises(KeyError), cv.disable_jit():
            raise KeyError
        assert not cv.config.read("disable_jit")
    assert cnp.ones(1).dtype == "float32"


def test_options_of_tasks_that_wait_inside_of_their_blocks_do_not_meet():
    seen = {}

    async def ask(precision, turns):
        with cv.default_matmul_precision(precision), cv.named_scope(precision):
            for _ in range(turns):
                await asyncio.sleep(0)
                seen.setdefault(precision, set()).add(
                    cv.config.default_matmul_precision
                )
        return cv.config.default_matmul_precision

    async def both():
        return await asyncio.gather(ask("high", 3), ask("highest", 5))

    assert asyncio.run(both()) == [None, None]
    assert seen == {"high": {"high"}, "highest": {"highest"}}


def test_a_task_begins_with_the_options_of_who_started_it():
    async def ask():
        return cv.config.enable_x64

    async def start():
        with cv.enable_x64():
            task = asyncio.ensure_future(ask())
        return await task, cv.config.enable_x64

    assert asyncio.run(start()) == (True, False)


def test_options_of_generators_that_take_turns_are_gone_when_they_have_ended():
    def under(**changes):
        with options.override(**changes), cv.named_scope("generator"):
            yield
            yield

    first, second = under(enable_x64=True), under(default_matmul_precision="high")
    next(first), next(second)
    assert list(first) == [None]
    assert cv.config.enable_x64 is False  # the first has ended, the second has not
    assert cv.config.default_matmul_precision == "high"
    assert list(second) == [None]
    assert cv.config.default_matmul_precision is None
    assert user_line().scope == ""


def test_meshes_in_force_may_end_in_another_order():
    one, two = (cv.make_mesh((1,), (name,)) for name in "ab")
    with contextlib.ExitStack() as stack:
        outer, inner = cv.set_mesh(one), cv.set_mesh(two)
        stack.push(inner.__exit__)
        outer.__exit__()
        assert cv.sharding.get_mesh() is two
    assert cv.sharding.get_mesh().empty


def test_names_are_known_with_and_without_prefix():
    assert cv.config.read("jax_enable_x64") is cv.config.read("enable_x64") is False
    assert cv.config.jax_enable_x64 is cv.config.enable_x64 is cv.config.x64_enabled
    assert {*options.names(), "platforms"} <= set(cv.config.values)
    assert "enable_x64=False" in repr(cv.config)
    with pytest.raises(AttributeError, match="no option 'enable_x46'"):
        _ = cv.config.enable_x46


def test_updates_hold_for_the_process_and_blocks_override_them():
    cv.config.update("jax_numpy_rank_promotion", "raise")
    try:
        assert cv.config.numpy_rank_promotion == "raise"
        seen = []
        thread = threading.Thread(
            target=lambda: seen.append(cv.config.numpy_rank_promotion)
        )
        thread.start()
        thread.join()
        assert seen == ["raise"]
        with cv.numpy_rank_promotion("allow"):
            assert (cnp.ones((2, 2)) + cnp.ones(2)).shape == (2, 2)
        with pytest.raises(ValueError, match="rank"):
            cnp.ones((2, 2)) + cnp.ones(2)
    finally:
        cv.config.update("numpy_rank_promotion", "allow")


BLOCKS = {
    "enable_x64": (cv.enable_x64, True),
    "disable_jit": (cv.disable_jit, True),
    "default_matmul_precision": (cv.default_matmul_precision, "highest"),
    "numpy_dtype_promotion": (cv.numpy_dtype_promotion, "strict"),
    "numpy_rank_promotion": (cv.numpy_rank_promotion, "warn"),
    "threefry_partitionable": (cv.threefry_partitionable, False),
    "default_prng_impl": (cv.default_prng_impl, "rbg"),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_each_option_has_a_block(name):
    block, value = BLOCKS[name]
    with block(value):
        assert cv.config.read(name) == value
    assert cv.config.read(name) != value


def test_the_default_device_of_a_block():
    (device, *_) = cv.devices()
    with cv.default_device(device):
        assert cv.config.default_device is device
        assert cv.jit(lambda x: x + 1)(1.0).device is device


def test_values_that_an_option_cannot_have():
    with pytest.raises(errors.SettingError, match="enable_x64 must be one of"):
        cv.config.update("enable_x64", "yes")
    with (
        pytest.raises(errors.SettingError, match="default_matmul_precision must be"),
        cv.default_matmul_precision("best"),
    ):
        pass


# -- threads ---------------------------------------------------------------------------


def test_a_block_holds_for_its_thread_only():
    f = cv.jit(lambda x: x * 2)
    inside, checked = threading.Event(), threading.Event()
    seen = {}

    def wide():
        with cv.enable_x64():
            inside.set()
            checked.wait(60)
            seen["wide"] = f(1.0).dtype.name

    thread = threading.Thread(target=wide)
    thread.start()
    assert inside.wait(60)
    seen["narrow"] = f(1.0).dtype.name
    checked.set()
    thread.join()
    assert seen == {"wide": "float64", "narrow": "float32"}


def test_many_threads_with_and_without_x64_share_a_function():
    f = cv.jit(cv.grad(lambda x: x * x * x))
    seen = []

    def work(wide):
        for i in range(20):
            with cv.enable_x64(wide):
                out = f(float(i))
            seen.append((wide, out.dtype.name, float(out) == 3.0 * i * i))

    threads = [threading.Thread(target=work, args=(i % 2 == 1,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert set(seen) == {(True, "float64", True), (False, "float32", True)}
    assert len(seen) == 80


# -- what depends on an option ---------------------------------------------------------


def test_every_option_that_can_change_a_program_is_in_the_key():
    traces = []

    @cv.jit
    def f(x):
        traces.append(1)
        return x @ x

    x = np.ones((2, 2), np.float32)
    f(x)
    for name, (block, value) in BLOCKS.items():
        if name == "disable_jit":
            continue
        before = len(traces)
        with block(value):
            f(x)
            f(x)
        assert len(traces) == before + 1, name
    before = len(traces)
    f(x)
    assert len(traces) == before


def test_x64_reaches_into_transformations_and_programs():
    def f(x):
        return cnp.sum(cnp.arange(3.0) * x)

    with cv.enable_x64():
        for made in (f, cv.grad(f), cv.jit(f), cv.checkpoint(f)):
            assert made(1.0).dtype == "float64"
        assert cv.vmap(f)(cnp.ones(2)).dtype == "float64"
        assert cv.eval_shape(f, 1.0).dtype == "float64"
        wide = cv.jit(f)(1.0)
    assert wide.dtype == "float64"
    assert float(wide) == 3.0


def test_strict_promotion_refuses_what_standard_promotes():
    a, b = cnp.ones(2, "int8"), cnp.ones(2, "float32")
    assert (a + b).dtype == "float32"
    with (
        cv.numpy_dtype_promotion("strict"),
        pytest.raises(errors.TypePromotionError, match="strict"),
    ):
        a + b


# -- the environment, and what only watches --------------------------------------------


def test_variables_of_the_environment_set_options():
    found = options.from_environment(
        {
            "COVECTOR_ENABLE_X64": "1",
            "COVECTOR_DEBUG_NANS": "off",
            "COVECTOR_NO_RECOMPILE": "Strict",
            "COVECTOR_DEFAULT_MATMUL_PRECISION": "bf16_bf16_f32_x3",
            "COVECTOR_NUMPY_RANK_PROMOTION": "raise",
            "COVECTOR_LOG_COMPILES": "",
            "COVECTOR_CACHE_DIR": "elsewhere",
        }
    )
    assert found == {
        "enable_x64": True,
        "debug_nans": False,
        "no_recompile": "strict",
        "default_matmul_precision": "BF16_BF16_F32_X3",
        "numpy_rank_promotion": "raise",
    }
    words = "COVECTOR_DEBUG_NANS must be one of .*true.*, but is 'perhaps'"
    with pytest.raises(errors.SettingError, match=words):
        options.from_environment({"COVECTOR_DEBUG_NANS": "perhaps"})


def test_a_process_starts_with_the_options_of_its_environment():
    code = (
        "import covector as cv, covector.numpy as cnp\n"
        "assert cv.config.enable_x64 and cv.config.debug_nans\n"
        "try: cnp.log(-1.0)\n"
        "except FloatingPointError as error: print(error)\n"
    )
    variables = {"COVECTOR_ENABLE_X64": "1", "COVECTOR_DEBUG_NANS": "true"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | variables,
    )
    assert done.stdout.startswith("first NaN: log of f64[] -1. made at <string>:3")


@pytest.mark.parametrize("name", options.WATCHING)
def test_options_that_only_watch_lead_to_the_same_programs(name):
    traces = []
    f = cv.jit(lambda x: (traces.append(name), x + 1)[1])
    f(1.0)
    choices = options._CHOICES[name]
    value = True if True in choices else {"traceback": "full"}.get(name, "log_explicit")
    with options.override(**{name: value}):
        assert options.current().of_programs is options.current().of_programs
        assert options.current().of_programs is not options.current()
        f(1.0)
        f(1.0)
    f(1.0)
    assert traces == [name]
    words = f"{name} must be one of {', '.join(map(repr, choices))}"
    with pytest.raises(errors.SettingError, match=words):
        cv.config.update(name, "perhaps")


def test_a_block_of_an_unknown_option_is_refused_in_words():
    with (
        pytest.raises(SettingError, match="Did you mean 'enable_x64'"),
        options.override(enable_x46=True),
    ):
        pass


def test_options_around_a_yield_hold_for_the_caller_until_the_generator_ends():
    """Context managers that are generators would not work otherwise."""

    def under_x64():
        with cv.enable_x64(True):
            yield cv.config.enable_x64

    waiting = under_x64()
    assert next(waiting) and cv.config.enable_x64
    waiting.close()
    assert not cv.config.enable_x64
    for inside in under_x64():
        assert inside
        break  # the generator is not held any longer, and so is closed
    assert not cv.config.enable_x64


def test_a_function_is_traced_again_under_another_value_of_a_users_context():
    scale, other, traced = cv.make_user_context(1.0), cv.make_user_context(), []

    @cv.jit
    def scaled(x):
        traced.append(scale.value)
        return scale.value * x

    def all_results():
        with scale(3.0), other("x"):
            assert other.value == "x"
            return scaled(2.0), cv.vmap(scaled)(cnp.ones(1)), scaled(2.0)

    assert [float(x.sum()) for x in (*all_results(), scaled(2.0))] == [6, 3, 6, 2]
    assert len(traced) == 3 and traced.count(3.0) == 2
    assert scale.value == 1.0 and other.value is None
    with pytest.raises(StaticArgumentError, match=r"must be hashable, but got \[1\]"):
        scale([1])


def test_what_is_set_for_the_process_can_be_read():
    assert cv.config.read("num_cpu_devices") is None or cv.config.num_cpu_devices > 0
    assert cv.config.read("platforms") == cv.config.platform_name
    before = cv.config.read("compilation_cache_dir")
    cv.config.update("compilation_cache_dir", before)
    assert cv.config.values["compilation_cache_dir"] == before


# -- options as text -------------------------------------------------------------------


def test_an_option_is_read_from_text_as_from_its_variable():
    assert cv.config.parsed("enable_x64", "on") is True
    with pytest.raises(SettingError, match="COVECTOR_ENABLE_X64 must be one of"):
        cv.config.parsed("enable_x64", "maybe")


def test_options_are_flags_of_absl_under_covectors_name(monkeypatch):
    names = []

    class Flags(dict):
        def __call__(self, arguments, known_only):
            assert known_only and arguments == ["program", "--covector_debug_infs"]
            self["covector_debug_infs"].value = True

    def define(name, default, _):
        names.append(name)
        flags.FLAGS[name] = SimpleNamespace(value=default)

    flags = SimpleNamespace(FLAGS=Flags(), DEFINE_boolean=define, DEFINE_string=define)
    app = SimpleNamespace(call_after_init=lambda take: None)
    monkeypatch.setitem(sys.modules, "absl", SimpleNamespace(app=app, flags=flags))
    monkeypatch.setattr(sys, "argv", ["program", "x", "--covector_debug_infs"])
    before = cv.config.debug_infs
    try:
        cv.config.parse_flags_with_absl()
        assert cv.config.debug_infs
    finally:
        cv.config.update("debug_infs", before)
    assert "covector_enable_x64" in names and not any("jax" in n for n in names)
