"""What errors say: who, what was wanted, what came, and the way out.

After each error the library is in a clean state: the base trace is watching again, and
the next call works.
"""

import ast
import doctest
import functools
import itertools
import pickle
import re
import threading
from contextvars import ContextVar
from pathlib import Path

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.cli.help import pages
from covector.core.convert import page_of_class
from covector.core.trace import current
from covector.lowering.evaluate import base
from covector.message_lines import WIDTH


@pytest.fixture(autouse=True)
def clean_afterwards():
    yield
    assert current.trace is base
    assert float(cv.jit(cv.grad(lambda x: x * x))(3.0)) == 6.0


X = np.arange(4, dtype=np.float32)


def says(error, *words):
    """Expect an error whose message has all these words, in this order."""
    return pytest.raises(error, match="(?s)" + ".*".join(words))


# -- derivatives -----------------------------------------------------------------------


def vector_loss(x):
    return x * 2


def test_the_gradient_of_a_vector():
    with says(
        errors.NotScalar,
        r"grad of vector_loss \(test_errors.py:\d+\)",
        "f32\\[4\\]",
        "jacrev",
    ):
        cv.grad(vector_loss)(X)
    assert cv.grad(vector_loss, reduce=cnp.sum)(X).tolist() == [2.0] * 4


def test_the_gradient_of_several_values():
    with says(errors.NotScalar, "returned a tuple of 2", "has_aux=True"):
        cv.grad(lambda x: (x, x))(1.0)


def test_the_gradient_of_an_integer_result():
    with says(errors.NotScalar, "real floating-point result", "i32\\[\\]"):
        cv.grad(cnp.argmax)(X)


def test_the_gradient_of_a_complex_result():
    with says(errors.NotScalar, "c64\\[\\]", "holomorphic=True"):
        cv.grad(lambda x: x * 1j)(1.0)


def test_the_gradient_with_respect_to_an_integer():
    with says(
        errors.NotDifferentiable, "argument x is i32", "astype", "allow_int=True"
    ):
        cv.grad(lambda x: x * 2.0)(1)
    with says(errors.NotDifferentiable, r"argument p\['w'\] is i32\[2\]"):
        cv.grad(lambda x, p: x * p["w"].sum(), argnums=1)(1.0, {"w": np.array([1, 2])})


def test_a_holomorphic_gradient_of_real_numbers():
    with says(
        errors.NotDifferentiable, "holomorphic=True needs complex", "argument x is f32"
    ):
        cv.grad(lambda x: x, holomorphic=True)(1.0)


def test_argnums_beyond_the_arguments():
    with says(errors.TypeMismatch, "argument 3", "1 positional argument"):
        cv.grad(lambda x: x, argnums=3)(1.0)


NUMBERS = "must be an integer or a sequence of integers"
NAMES = "must be a string or a sequence of strings"


@pytest.mark.parametrize(
    ("transform", "option", "given", "wanted"),
    [
        (cv.grad, "argnums", "x", NUMBERS),
        (cv.value_and_grad, "argnums", None, NUMBERS),
        (cv.jacfwd, "argnums", 1.5, NUMBERS),
        (cv.hessian, "argnums", ("x",), NUMBERS),
        (cv.jit, "static_argnums", "a", NUMBERS),
        (cv.jit, "static_argnames", 3, NAMES),
        (cv.jit, "donate_argnums", (1.5,), NUMBERS),
        (cv.jit, "donate_argnames", (None,), NAMES),
        (cv.checkpoint, "static_argnums", "a", NUMBERS),
        (cv.make_jaxpr, "static_argnums", 1.5, NUMBERS),
        (cv.pmap, "static_broadcasted_argnums", "a", NUMBERS),
        (cv.pmap, "donate_argnums", "a", NUMBERS),
        (cv.custom_jvp, "nondiff_argnums", "a", NUMBERS),
        (cv.custom_vjp, "nondiff_argnames", (0,), NAMES),
        (cv.data_parallel, "batch_argnums", "x", NUMBERS),
    ],
)
def test_arguments_that_are_named_by_something_else(transform, option, given, wanted):
    who = r"vector_loss \(test_errors.py:\d+\)"
    with says(errors.ArgumentError, who, f"{option} {wanted}", re.escape(repr(given))):
        transform(vector_loss, **{option: given})


def test_nondiff_argnums_beyond_the_arguments():
    with says(errors.TypeMismatch, "nondiff_argnums -2", "1 positional argument"):
        cv.custom_vjp(vector_loss, nondiff_argnums=(-2,))


def test_batches_with_a_name_or_a_size_that_is_none():
    with says(errors.AxisError, "axis_name must be hashable", r"\['i'\]"):
        cv.vmap(vector_loss, axis_name=["i"])
    with says(errors.AxisError, "axis_name must be hashable"):
        cv.pmap(vector_loss, axis_name=["i"])
    with says(errors.AxisError, "axis_size must be an integer", "'4'"):
        cv.vmap(lambda: 1.0, axis_size="4")()


def test_a_platform_that_is_no_name():
    with says(errors.DeviceError, "platform is named by a string", "3"):
        cv.jit(vector_loss, backend=3)
    with says(errors.DeviceError, "platform is named by a string", "3"):
        cv.devices(3)


def test_has_aux_without_a_pair():
    with says(errors.TypeMismatch, "has_aux=True", "pair", "f32"):
        cv.grad(lambda x: x, has_aux=True)(1.0)


def test_tangents_of_another_structure_or_type():
    with says(errors.TreeMismatch, "structure of the primals"):
        cv.jvp(lambda x: x, (1.0,), ((1.0, 2.0),))
    with says(
        errors.TypeMismatch, "tangent of type f32\\[4\\]", "f32\\[3\\]", "broadcast_to"
    ):
        cv.jvp(lambda x: x, (X,), (X[:3],))
    with says(errors.TypeMismatch, "tuple or list", r"jvp\(f, \(x,\), \(dx,\)\)"):
        cv.jvp(lambda x: x, 1.0, 1.0)


def test_cotangents_of_another_structure_or_type():
    _, pull = cv.vjp(lambda x: {"a": x}, X)
    with says(errors.TreeMismatch, "pullback", "structure of the value"):
        pull(X)
    with says(
        errors.TypeMismatch,
        "cotangent of type f32\\[4\\]",
        "i32\\[4\\]",
        r"astype\('float32'\)",
    ):
        pull({"a": np.arange(4)})
    with says(errors.TypeMismatch, "one argument"):
        pull(X, X)


def test_the_transpose_of_what_is_not_linear():
    with says(
        errors.NotDifferentiable, "linear function", "mul at .*test_errors.py", "vjp"
    ):
        cv.linear_transpose(lambda x: x * x, 1.0)


def test_forward_mode_of_a_reverse_rule():
    f = cv.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    with says(errors.NotDifferentiable, "only a reverse-mode rule", "custom_jvp"):
        cv.jvp(f, (1.0,), (1.0,))


def test_custom_rules_that_are_missing_or_wrong():
    with says(errors.NotDifferentiable, "no rule yet", "defjvp"):
        cv.custom_jvp(lambda x: x)(1.0)
    with says(errors.NotDifferentiable, "no rule yet", "defvjp"):
        cv.custom_vjp(lambda x: x)(1.0)
    f = cv.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: p[0])
    with says(errors.TypeMismatch, "pair \\(value, tangent\\)"):
        cv.grad(f)(1.0)
    f.defjvp(lambda p, t: (p[0], cnp.ones(3)))
    with says(errors.TypeMismatch, "tangent of type f32\\[\\]", "f32\\[3\\]"):
        cv.grad(f)(1.0)
    g = cv.custom_vjp(lambda x, y: x * y)
    g.defvjp(lambda x, y: (x * y, None), lambda _, ct: (ct,))
    with says(
        errors.TreeMismatch, "one cotangent per argument \\(2\\)", "a tuple of 1"
    ):
        cv.grad(g)(1.0, 2.0)
    g.defvjp(lambda x, y: (x * y, None), lambda _, ct: (ct, cnp.ones(3)))
    with says(errors.TypeMismatch, "cotangent of type f32\\[\\]", "f32\\[3\\]"):
        cv.grad(g)(1.0, 2.0)


# -- traced values where known ones are needed -----------------------------------------


def test_a_traced_value_as_a_bool():
    with says(
        errors.TracerBoolConversionError,
        "known bool",
        "f32|bool",
        "where",
        "static_argnums",
    ):
        cv.jit(lambda x: 1 if x > 0 else 2)(1.0)


def test_a_traced_value_as_an_integer_or_shape():
    with says(
        errors.TracerIntegerConversionError,
        "known integer",
        "i32\\[\\]",
        "static_argnums",
    ):
        cv.jit(lambda n: list(range(n)))(3)
    with says(errors.TracerIntegerConversionError, "known integer"):
        cv.jit(int)(3)
    with pytest.raises((errors.ConcretizationTypeError, TypeError)):
        cv.jit(cnp.zeros)(3)
    with pytest.raises((errors.ConcretizationTypeError, TypeError)):
        cv.jit(lambda n: cnp.arange(4.0).reshape(n, 2))(2)


def test_a_traced_value_as_an_index_of_a_list():
    with says(errors.TracerIntegerConversionError, "known integer"):
        cv.jit(lambda i: [1.0, 2.0][i])(1)


def test_a_traced_value_as_a_float():
    with says(
        errors.ConcretizationTypeError, r"float\(\) needs a known number", "astype"
    ):
        cv.jit(float)(1.0)


def test_a_traced_value_in_numpy():
    with says(
        errors.TracerArrayConversionError, "NumPy needs the values", "covector.numpy"
    ):
        cv.jit(np.sin)(X)


def test_a_traced_mask_as_an_index():
    with says(errors.NonConcreteBooleanIndexError, "where"):
        cv.jit(lambda x: x[x > 1])(X)


def test_a_traced_value_says_where_it_was_made():
    def f(x):
        y = x + 1
        return bool(y)

    with says(
        errors.TracerBoolConversionError, r"made at .*test_errors.py:\d+", "jit|f"
    ):
        cv.jit(f)(1.0)


# -- leaks -----------------------------------------------------------------------------


def test_a_leaked_value_names_the_line_that_made_it():
    kept = []

    def f(x):
        y = cnp.sin(x)  # the line that is named
        kept.append(y)
        return y

    cv.jit(f)(1.0)
    line = f.__code__.co_firstlineno + 1
    with says(
        errors.UnexpectedTracerError,
        "f32\\[\\]",
        "had ended",
        f"test_errors.py:{line} ",
    ):
        kept[0] + 1
    with says(errors.UnexpectedTracerError, "had ended"):
        cv.jit(lambda x: x + kept[0])(1.0)
    with says(errors.UnexpectedTracerError, "had ended"):
        cv.jit(lambda x: x)(kept[0])


@pytest.mark.parametrize("transform", [cv.grad, cv.vmap], ids=["grad", "vmap"])
def test_a_value_leaked_from_a_derivative_or_a_batch_names_the_function(transform):
    kept = []

    def leaky(x):
        kept.append(x * 1)
        return x

    transform(leaky)(cnp.float32(1) if transform is cv.grad else X)
    with says(errors.UnexpectedTracerError, "leaky \\(test_errors.py"):
        kept[0] + 1


# -- jit -------------------------------------------------------------------------------


def test_an_argument_that_is_no_array():
    with says(
        errors.StaticArgumentError,
        "argument mode is 'fast' of type str",
        "static_argnums",
    ):
        cv.jit(lambda x, mode: x)(1.0, "fast")
    with says(errors.StaticArgumentError, "keyword argument mode", "static_argnames"):
        cv.jit(lambda x, mode: x)(1.0, mode="fast")


def test_a_parameter_that_is_no_array_is_told_with_its_path():
    parameters = {"w": X, "layers": [1.0, {"name": "dense"}]}
    for transform in (cv.grad, cv.jacobian, lambda f: functools.partial(cv.vjp, f)):
        with pytest.raises(errors.DTypeError) as caught:
            transform(lambda params: params["w"].sum())(parameters)
        assert caught.value.__notes__ == ["It is argument params['layers'][1]['name']."]


def test_a_static_argument_that_cannot_be_hashed():
    f = cv.jit(lambda x, sizes: x, static_argnums=1)
    with says(
        errors.StaticArgumentError,
        "static argument sizes must be hashable",
        "list",
        "tuple",
    ):
        f(1.0, [1, 2])


def test_a_static_argument_that_is_traced():
    f = cv.jit(lambda x, n: x * n, static_argnums=1)
    with says(errors.StaticArgumentError, "static argument n must be known"):
        cv.jit(lambda n: f(1.0, n))(3)


def test_a_result_that_is_no_array():
    with says(errors.TypeMismatch, r"result at \['name'\] is 'a' of type str"):
        cv.jit(lambda x: {"x": x, "name": "a"})(1.0)


def test_shapes_without_values_cannot_run():
    with says(errors.StaticArgumentError, "needs values to run", "eval_shape"):
        cv.jit(lambda x: x)(cv.ShapeDtypeStruct((2,), "float32"))


def test_a_donated_array_used_again():
    x = cnp.asarray(np.ones(1000, np.float32))
    cv.jit(lambda x: x + 1, donate_argnums=0)(x)
    with says(errors.DeletedArrayError, "f32\\[1000\\]", "donate_argnums", "copy"):
        x + 1
    with says(errors.DeletedArrayError, "f32\\[1000\\]", "donate_argnums"):
        cv.jit(lambda x: x * 3)(x)
    with says(errors.DeletedArrayError, "donate_argnums"):
        np.asarray(x)


def test_a_compiled_function_called_with_something_else():
    compiled = cv.jit(lambda x, y: x + y).lower(X, X).compile()
    with says(errors.TypeMismatch, "traced for f32\\[4\\] as argument 1", "f32\\[3\\]"):
        compiled(X, X[:3])
    with says(errors.TreeMismatch, "traced for other arguments"):
        compiled(X)


# -- vmap ------------------------------------------------------------------------------


def test_in_axes_of_another_length():
    with says(errors.AxisError, "one entry per positional argument", "has 3", "has 1"):
        cv.vmap(lambda x: x, in_axes=(0, 0, 0))(X)


def test_in_axes_that_is_no_prefix():
    with says(errors.TreeMismatch, "vmap in_axes must be a prefix"):
        cv.vmap(lambda p: p["w"], in_axes=({"v": 0},))({"w": X})


def test_mapped_sizes_that_differ():
    with says(
        errors.AxisError,
        "vmap got inconsistent sizes for array axes to be mapped",
        r"argument y is f32\[3\], mapped over axis 0 of size 3",
    ):
        cv.vmap(lambda x, y, z: x)(X, X[:3], X)


def test_an_axis_that_is_not_there():
    with says(errors.AxisError, "argument x is f32\\[4\\]", "no axis 1", "None"):
        cv.vmap(lambda x: x, in_axes=1)(X)
    with says(errors.AxisError, "argument x is f32\\[\\]", "no axis 0"):
        cv.vmap(lambda x: x)(1.0)


def test_nothing_mapped():
    with says(errors.AxisError, "no argument is mapped", "axis_size"):
        cv.vmap(lambda x: x, in_axes=None)(X)
    assert cv.vmap(lambda x: x, in_axes=None, axis_size=2)(1.0).tolist() == [1.0, 1.0]


def test_out_axes_of_what_differs_over_the_batch():
    with says(errors.AxisError, "out_axes is None", "differs over the batch"):
        cv.vmap(lambda x: x, out_axes=None)(X)
    with says(errors.AxisError, "out_axes is 3", "needs an axis from -1 to 0"):
        cv.vmap(lambda x: x, out_axes=3)(X)


def test_names_that_are_no_arguments():
    with says(errors.AxisError, "names z", "arguments are x, y"):
        cv.vmap(lambda x, y: x, in_axes={"z": 0})(X, X)


# -- operands --------------------------------------------------------------------------


def test_shapes_that_do_not_broadcast():
    with says(
        errors.TypeMismatch, "add got incompatible shapes", "f32\\[4\\], f32\\[3\\]"
    ):
        cnp.asarray(X) + X[:3]


def test_strict_operations_name_their_operands():
    with says(errors.TypeMismatch, "add needs operands", "f32\\[4\\], i32\\[4\\]"):
        lax.add(cnp.asarray(X), cnp.arange(4))
    with says(errors.TypeMismatch, "add", "f32\\[4\\], f32\\[3\\]"):
        lax.add(cnp.asarray(X), cnp.asarray(X[:3]))


def test_products_that_do_not_fit():
    with says(errors.TypeMismatch, "f32\\[2,3\\]", "f32\\[2,3\\]"):
        cnp.ones((2, 3)) @ cnp.ones((2, 3))


def test_a_list_where_an_array_is_needed():
    with says(TypeError, "list", "covector.numpy.array"):
        cnp.sin([1.0, 2.0])


def test_an_integer_that_does_not_fit():
    with says(OverflowError, "300", "u8"):
        cnp.zeros(2, "uint8") + 300


def test_an_error_in_the_users_function_passes_through_and_leaves_nothing():
    def broken(x):
        raise ZeroDivisionError("mine")

    for transform in (cv.jit, cv.grad, cv.vmap, cv.checkpoint, cv.jacfwd):
        with pytest.raises(ZeroDivisionError, match="mine"):
            transform(broken)(X if transform is cv.vmap else 1.0)
    with pytest.raises(ZeroDivisionError, match="mine"):
        cv.jit(cv.grad(cv.jit(cv.vmap(broken))))(X)


def test_an_error_on_one_thread_leaves_the_others_alone():
    outcome = []

    def work(i):
        for _ in range(20):
            if i % 2:
                with pytest.raises(errors.TracerBoolConversionError):
                    cv.jit(lambda x: 1 if x > 0 else 2)(1.0)
            else:
                outcome.append(float(cv.grad(lambda x: x**3)(2.0)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert outcome == [12.0] * 40


# -- options ---------------------------------------------------------------------------


def test_options_that_do_not_exist_or_cannot_be():
    with says(
        errors.SettingError, "no option 'enable_x46'", "Did you mean 'enable_x64'"
    ):
        cv.config.update("jax_enable_x46", True)
    with says(errors.SettingError, "numpy_dtype_promotion must be one of", "'loose'"):
        cv.config.update("numpy_dtype_promotion", "loose")


# -- what is not a function, and arguments that one does not have ----------------------


def produced(x):
    yield x


async def awaited(x):
    return x


NO_FUNCTIONS = {
    "jit": cv.jit,
    "grad": cv.grad,
    "vmap": cv.vmap,
    "pmap": cv.pmap,
    "jacfwd": cv.jacfwd,
    "checkpoint": cv.checkpoint,
    "custom_jvp": cv.custom_jvp,
    "custom_vjp": cv.custom_vjp,
    "vjp": lambda f: cv.vjp(f, 1.0),
}

#: functions of functions, handed something else, and what they say
OF_FUNCTIONS = {
    "scan needs a function for f": lambda: lax.scan(3, 0, X),
    "while_loop needs a function for cond_fun": lambda: lax.while_loop(3, abs, 0),
    "while_loop needs a function for body_fun": lambda: lax.while_loop(abs, 3, 0),
    "fori_loop needs a function for body_fun": lambda: lax.fori_loop(0, 3, 3, 0),
    "cond needs a function for false_fun": lambda: lax.cond(True, abs, 3, 0),
    "switch needs a function for branches\\[1\\]": lambda: lax.switch(0, [abs, 3], 0),
    "map needs a function for f": lambda: lax.map(3, X),
    "associative_scan needs a function for fn": lambda: lax.associative_scan(3, X),
    "reduce needs a function for computation": lambda: lax.reduce(X, 0.0, 3, (0,)),
    "custom_root needs a function for solve": lambda: lax.custom_root(abs, 0.0, 3, abs),
    "defjvp needs a function for jvp": lambda: cv.custom_jvp(abs).defjvp(3),
    "defjvps needs a function for jvps\\[0\\]": lambda: cv.custom_jvp(abs).defjvps(3),
    "defvjp needs a function for bwd": lambda: cv.custom_vjp(abs).defvjp(abs, 3),
    "custom_vmap needs a function for fun": lambda: cv.custom_batching.custom_vmap(3),
    "vectorize needs a function for pyfunc": lambda: cnp.vectorize(3),
    "apply_over_axes needs a function": lambda: cnp.apply_over_axes(3, X, 0),
    "composite needs a function": lambda: lax.composite(3, "my.name"),
    "map needs a function, and then what": lambda: cv.tree.map({"a": X}, abs),
    "map_with_path needs a function, and": lambda: cv.tree.map_with_path(3, X),
    "pure_callback needs a function": lambda: cv.pure_callback(3, X, X),
}


@pytest.mark.parametrize("words", OF_FUNCTIONS)
def test_a_function_of_functions_says_which_of_them_is_none(words):
    with says(TypeError, words, "of type (int|dict)"):
        OF_FUNCTIONS[words]()


class Unregistered:
    """A class of a user, which is not a pytree."""


def test_an_object_of_a_class_that_is_not_registered_names_the_way_to_register():
    for call in (cv.jit(abs), cv.grad(abs), cv.vmap(abs), cnp.abs, cv.device_put):
        with says(TypeError, "of type Unregistered", "register_dataclass") as caught:
            call(Unregistered())
        assert caught.value.page == "unregistered-class"
    with says(TypeError, "its result is .* of type Unregistered", "register_dataclass"):
        cv.jit(lambda x: Unregistered())(1.0)


def test_arrays_have_no_hash_and_go_by_their_public_name():
    seen = []
    cv.jit(lambda x: seen.append(x) or x)(X)
    with says(TypeError, "unhashable type: 'Array'"):
        hash(cnp.asarray(X))
    with says(TypeError, "unhashable type: 'Tracer'"):
        hash(seen[0])
    with says(AttributeError, "'Array' object has no attribute 'numpy'"):
        cnp.asarray(X).numpy()


@pytest.mark.parametrize("name", NO_FUNCTIONS)
def test_what_is_no_function_is_refused_at_once(name):
    transform = NO_FUNCTIONS[name]
    with says(TypeError, f"{name} needs a function, but got 3 of type int"):
        transform(3)
    for fun in (produced, awaited):
        with says(TypeError, f"{name} needs a function that returns", fun.__name__):
            transform(fun)


def two(x, step=1):
    return x * step


ARGUMENTS = {
    "static": (lambda: cv.jit(two, static_argnames="stop"), "'stop'.*x, step"),
    "donated": (lambda: cv.jit(two, donate_argnames="stap"), "Did you mean 'step'"),
    "both": (
        lambda: cv.jit(two, static_argnums=1, donate_argnames="step"),
        "'step' is static and donated",
    ),
    "both in pmap": (
        lambda: cv.pmap(two, static_broadcasted_argnums=1, donate_argnums=1),
        "pmap of two.*'step' is static and donated",
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_that_a_function_does_not_have_are_refused_at_once(name):
    call, words = ARGUMENTS[name]
    with says(errors.StaticArgumentError, words):
        call()


@pytest.mark.parametrize("transform", [cv.vmap, cv.pmap])
def test_bools_are_no_axes(transform):
    with says(TypeError, "in_axes holds ints and None, but got True"):
        transform(two, in_axes=True)
    with says(TypeError, "out_axes holds ints and None, but got False"):
        transform(two, out_axes=False)


def test_classes_have_the_names_of_jax_too():
    """Those that JAX documents, each below the builtin class that it has there."""
    documented = {
        "ConcretizationTypeError": TypeError,
        "InconclusiveDimensionOperation": Exception,
        "JAXIndexError": IndexError,
        "JAXTypeError": TypeError,
        "JaxRuntimeError": RuntimeError,
        "JaxprTypeError": Exception,
        "KeyReuseError": errors.CovectorError,
        "NonConcreteBooleanIndexError": IndexError,
        "TracerArrayConversionError": TypeError,
        "TracerBoolConversionError": errors.ConcretizationTypeError,
        "TracerIntegerConversionError": TypeError,
        "UnexpectedTracerError": errors.JAXTypeError,
    }
    for name, builtin in documented.items():
        assert issubclass(getattr(errors, name), builtin)


# -- how messages are laid out ---------------------------------------------------------


@pytest.fixture
def laid_out(monkeypatch):
    """As users see messages, and not on one line."""
    monkeypatch.setattr(errors, "in_lines", ContextVar("in_lines", default=True))


def test_the_first_line_of_a_message_is_its_first_sentence(laid_out):
    short = "jit needs a function, but got 3 of type int. Hand it the function itself."
    assert str(errors.TypeMismatch(short)) == short
    error = errors.TypeMismatch(f"add got f32[3], f32[4]. {'Reshape it. ' * 9}")
    assert str(error).splitlines()[0] == "add got f32[3], f32[4]."


def test_the_text_of_an_error_is_as_it_was_raised_while_another_thread_prints():
    error = errors.TypeMismatch(f"add got f32[3], f32[4]. {'Reshape it. ' * 9}")
    assert str(error) == error.args[0]
    texts = []
    printing = errors.in_lines.set(True)
    try:
        assert str(error) != error.args[0]
        thread = threading.Thread(target=lambda: texts.append(str(error)))
        thread.start()
        thread.join()
    finally:
        errors.in_lines.reset(printing)
    assert texts == [error.args[0]]


def test_a_long_first_sentence_is_broken_at_a_comma(laid_out):
    who = "jit of a_function_with_a_long_name (train.py:31) needs arrays and numbers"
    words = f"{who}, but argument 1['parameters'] is 'fast' of type str."
    assert str(errors.TypeMismatch(words)) == words.replace(", ", ",\n", 1)


def test_expressions_in_messages_are_not_broken(laid_out):
    for n in range(60, 100):
        error = errors.TypeMismatch(f"{'x' * n} Use {'x' * 40} a[:, None, ...] here.")
        assert "a[:, None, ...]" in str(error)


def test_the_last_line_of_a_message_names_its_page(laid_out):
    error = errors.NotScalar("grad needs a scalar.")
    assert str(error) == "grad needs a scalar.\nMore: covector help not-scalar"
    error = errors.TypeMismatch("It differs.", page="shapes")
    error = pickle.loads(pickle.dumps(error))
    assert str(error) == "It differs.\nMore: covector help shapes"
    assert str(errors.CovectorError()) == ""


SOURCES = sorted(Path(errors.__file__).parent.rglob("*.py"))


def test_every_page_that_a_message_names_is_there_and_every_page_is_named():
    text = "".join([file.read_text("utf-8") for file in SOURCES])
    named = set(re.findall(r'\bpage(?:: [^="\n]*)? ?= ?"([^"]*)"', text))
    named.add(page_of_class(Path()))
    assert named == set(pages())
    index = (Path(__file__).parents[1] / "docs/errors/index.md").read_text("utf-8")
    assert set(re.findall(r"\(([\w-]+)\.md\) \|", index)) == named


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_examples_of_a_page_raise_the_error_it_is_about(name, laid_out):
    space, raised = {"__name__": "page"}, []
    for example in doctest.DocTestParser().get_examples(pages()[name]):
        try:
            exec(compile(example.source, name, "single"), space)
        except errors.CovectorError as error:
            raised.append(error)
    assert raised and {error.page for error in raised} == {name}
    for error in raised:
        first, *others = str(error).splitlines()
        assert max(map(len, [first, *others])) <= WIDTH


#: a number of things, in a message
NUMBER = re.compile(r"len\(.*|(.*\.)?(ndim|size|num_\w+)|n|count|ndim|rank|size")
PLURAL = re.compile(
    r" (\w+ )?(arguments|axes|elements|entries|values|results|devices|operands|keys|"
    r"leaves|branches|processes|shards|indices|groups|words|points|rows|columns)\b"
)


def several(file):
    """The texts of a file in which a number stands before a plural."""
    for text in ast.walk(ast.parse(file.read_text("utf-8"))):
        parts = text.values if isinstance(text, ast.JoinedStr) else []
        for hole, after in itertools.pairwise(parts):
            if isinstance(hole, ast.FormattedValue):
                number = NUMBER.fullmatch(ast.unparse(hole.value))
                if number and PLURAL.match(str(getattr(after, "value", ""))):
                    yield f"{file.name}:{hole.lineno}: {ast.unparse(text)}"


def test_one_thing_is_never_told_as_several():
    """A number and what it counts are put into words by ``how_many``."""
    assert errors.how_many(1, "axis", "axes") == "1 axis"
    assert errors.how_many(2, "axis", "axes") == "2 axes"
    assert [text for file in SOURCES for text in several(file)] == []
