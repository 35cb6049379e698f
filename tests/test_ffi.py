"""Foreign functions: a kernel in C, and kernels of LAPACK, in and out of programs."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import ffi
from covector.core.primitive import ManyResults, operation
from covector.errors import ArgumentError, DeviceError, NotDifferentiable, TypeMismatch
from covector.experimental.layout import Layout
from covector.lax import linalg

F32 = np.float32
X = np.arange(6, dtype=F32).reshape(2, 3)

#: y = scale * x + shifts[0], or an error where the scale is 0; it counts its calls
SOURCE = r"""
#include <string.h>
#include "xla/ffi/api/c_api.h"

int calls = 0;

static void *attribute(XLA_FFI_CallFrame *frame, const char *name) {
  for (int64_t i = 0; i < frame->attrs.size; ++i) {
    XLA_FFI_ByteSpan *found = frame->attrs.names[i];
    if (found->len == strlen(name) && !memcmp(found->ptr, name, found->len))
      return frame->attrs.attrs[i];
  }
  return 0;
}

XLA_FFI_Error *affine(XLA_FFI_CallFrame *frame) {
  XLA_FFI_Metadata_Extension *about = (void *)frame->extension_start;
  if (about && about->extension_base.type == XLA_FFI_Extension_Metadata) {
    about->metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    about->metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    return 0;
  }
  if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return 0;
  XLA_FFI_Buffer *in = frame->args.args[0], *out = frame->rets.rets[0];
  float scale = *(float *)((XLA_FFI_Scalar *)attribute(frame, "scale"))->value;
  XLA_FFI_Array *shifts = attribute(frame, "shifts");
  float shift = shifts ? ((float *)shifts->data)[0] : 0;
  if (scale == 0) {
    XLA_FFI_Error_Create_Args error = {XLA_FFI_Error_Create_Args_STRUCT_SIZE};
    error.message = "the scale is 0";
    error.errc = XLA_FFI_Error_Code_INVALID_ARGUMENT;
    return frame->api->XLA_FFI_Error_Create(&error);
  }
  ++calls;
  int64_t n = 1;
  for (int64_t i = 0; i < out->rank; ++i) n *= out->dims[i];
  for (int64_t i = 0; i < n; ++i)
    ((float *)out->data)[i] = scale * ((float *)in->data)[i] + shift;
  return 0;
}

XLA_FFI_Error *another(XLA_FFI_CallFrame *frame) { return affine(frame); }
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The kernel, compiled and known as ``affine``: once in a process, also where a
    worker comes back to these tests after others.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    folder = tmp_path_factory.mktemp("ffi")
    (folder / "affine.c").write_text(SOURCE)
    made = folder / "affine.so"
    flags = ["-O1", "-shared", "-fPIC", f"-I{ffi.include_dir()}"]
    subprocess.run([compiler, *flags, folder / "affine.c", "-o", made], check=True)
    loaded = ctypes.cdll.LoadLibrary(str(made))
    ffi.register_ffi_target("affine", ffi.pycapsule(loaded.affine), platform="cpu")
    return loaded


def affine(x, scale=2.0, shift=None, **options):
    shape = cv.ShapeDtypeStruct(x.shape, x.dtype)
    attributes = {} if shift is None else {"shifts": np.array([shift], F32)}
    return ffi.ffi_call("affine", shape, **options)(x, scale=F32(scale), **attributes)


def calls(library):
    return ctypes.c_int.in_dll(library, "calls").value


def test_a_kernel_in_c_runs_eagerly_and_in_programs(library):
    np.testing.assert_array_equal(affine(X), 2 * X)
    np.testing.assert_array_equal(affine(X, shift=0.5), 2 * X + 0.5)
    program = cv.jit(lambda x: affine(x + 1, 3.0) - 1)
    np.testing.assert_array_equal(program(X), 3 * (X + 1) - 1)


@pytest.mark.parametrize(
    ("method", "times"),
    [
        ("sequential", 4),
        ("sequential_unrolled", 4),
        ("expand_dims", 1),
        ("broadcast_all", 1),
        ("legacy_vectorized", 1),
    ],
)
def test_a_batch_is_called_as_the_method_says(library, method, times):
    x = cnp.arange(24, dtype=F32).reshape(2, 4, 3)
    f = cv.vmap(lambda x: affine(x, vmap_method=method), in_axes=1, out_axes=1)
    before = calls(library)
    np.testing.assert_array_equal(cv.jit(f)(x), 2 * x)
    assert calls(library) == before + times


def test_a_batch_without_a_method_is_refused(library):
    with pytest.raises(ArgumentError, match=r"ffi_call of affine .* Pass vmap_method"):
        cv.vmap(affine)(X)
    with pytest.raises(ArgumentError, match=r"no vmap_method 'all'; there are seq"):
        affine(X, vmap_method="all")


def test_a_rule_of_the_user_gives_it_a_derivative(library):
    with pytest.raises(NotDifferentiable, match=r"ffi_call of affine .*custom_jvp"):
        cv.grad(lambda x: affine(x).sum())(X)

    @cv.custom_jvp
    def scaled(x):
        return affine(x, 3.0, vmap_method="broadcast_all")

    scaled.defjvp(lambda primals, tangents: (scaled(*primals), 3.0 * tangents[0]))
    np.testing.assert_array_equal(
        cv.jit(cv.grad(lambda x: (scaled(x) ** 2).sum()))(X), 18 * X
    )
    np.testing.assert_array_equal(cv.vmap(cv.grad(lambda x: scaled(x).sum()))(X), 3)

    @cv.custom_vjp
    def backward(x):
        return affine(x)

    backward.defvjp(lambda x: (backward(x), None), lambda _, y: (affine(y),))
    np.testing.assert_array_equal(cv.grad(lambda x: backward(x).sum())(X), 2 + 0 * X)


def test_an_unused_call_is_dropped_unless_it_has_a_side_effect(library):
    def ignoring(**options):
        return cv.jit(lambda x: (affine(x, **options), x + 1)[1])

    before = calls(library)
    ignoring()(X)
    assert calls(library) == before
    ignoring(has_side_effect=True)(X)
    assert calls(library) == before + 1


def test_an_error_of_a_kernel_is_raised_with_its_words(library):
    with pytest.raises(DeviceError, match="the scale is 0"):
        cnp.asarray(affine(X, 0.0)).block_until_ready()
    np.testing.assert_array_equal(affine(X), 2 * X)


def test_operands_over_several_devices_are_whole_for_the_kernel(library):
    if cv.device_count() < 2:
        pytest.skip("needs two devices")
    mesh = cv.make_mesh((2,), ("x",))
    x = cv.device_put(X, cv.NamedSharding(mesh, cv.P("x")))
    np.testing.assert_array_equal(cv.jit(affine)(x), 2 * X)


def test_a_name_that_is_taken_or_unknown(library):
    other = ffi.pycapsule(library.another)
    with pytest.raises(ArgumentError, match=r"register_ffi_target cannot .* 'affine'"):
        ffi.register_ffi_target("affine", other)
    unknown = ffi.ffi_call("unheard_of", cv.ShapeDtypeStruct((), "float32"))
    with pytest.raises(DeviceError, match="unheard_of"):
        unknown(1.0)


# -- kernels that jaxlib has -----------------------------------------------------------

MATRICES = np.stack([np.eye(3) * 4 + 1, np.eye(3) * 9 + 2]).astype(F32)


def potrf(x, **options):
    results = (
        cv.ShapeDtypeStruct(x.shape, x.dtype),
        cv.ShapeDtypeStruct(x.shape[:-2], "int32"),
    )
    columns = (1, 0)
    call = ffi.ffi_call(
        "lapack_spotrf_ffi",
        results,
        input_layouts=[columns],
        output_layouts=[Layout(columns), None],
        input_output_aliases={0: 0},
        **options,
    )
    return call(x, uplo=np.uint8(ord("L")))


@pytest.mark.parametrize("method", ["sequential", "broadcast_all"])
def test_layouts_and_aliases_hold_under_vmap_too(method):
    factors, info = cv.vmap(lambda x: potrf(x, vmap_method=method))(MATRICES)
    np.testing.assert_allclose(
        cnp.tril(factors), np.linalg.cholesky(MATRICES), rtol=1e-5
    )
    assert info.tolist() == [0, 0]


def test_an_operation_of_a_user_is_lowered_to_a_kernel():
    @operation
    class Triangle(ManyResults):
        """The Cholesky factor, whose upper part is of no account."""

        def type_rule(self, x):
            return (x, x.with_shape(()).with_dtype(np.dtype("int32")))

        def lower(self, ctx, x):
            lower = ffi.ffi_lowering(
                "lapack_spotrf_ffi",
                operand_layouts=[(0, 1)],
                result_layouts=[(0, 1), None],
                backend_config={"uplo": np.uint8(ord("L"))},
                operand_output_aliases={0: 0},
            )
            return lower(ctx, x)

    factor, _ = cv.jit(lambda x: Triangle()(cnp.asarray(x)))(MATRICES[0])
    np.testing.assert_allclose(
        cnp.tril(factor), linalg.cholesky(MATRICES[0]), rtol=1e-6
    )


# -- words -----------------------------------------------------------------------------


def text_of(**attributes):
    call = ffi.ffi_call("spelled", cv.ShapeDtypeStruct((), "float32"))
    return cv.jit(lambda x: call(x, **attributes)).lower(1.0).as_text()


def test_attributes_keep_their_types_and_bits():
    text = text_of(
        a=1, b=2.5, c=True, d="x\n\"\\é", e=np.array([1, 2], np.int32),
        f=F32(np.inf), g=(1, {"h": np.uint8(7)}), i=np.float64(0.1),
    )  # fmt: skip
    for spelled in (
        "a = 1 : i64",
        "b = 2.500000e+00 : f64",
        "c = true",
        'd = "x\\0A\\22\\\\\\C3\\A9"',
        "e = dense<[1, 2]> : tensor<2xi32>",
        "f = 0x7F800000 : f32",
        "g = [1, {h = 7 : ui8}]",
        "i = 1.000000e-01 : f64",
    ):
        assert spelled in text


def test_attributes_that_are_none():
    with pytest.raises(ArgumentError, match=r"but got None of type NoneType"):
        text_of(a=None)
    with pytest.raises(ArgumentError, match=r"no attribute of complex64"):
        text_of(a=np.complex64(1))
    with pytest.raises(ArgumentError, match=r"Arrays of covector are operands"):
        text_of(a=cnp.ones(2))


def test_layouts_and_aliases_that_do_not_fit():
    shape = cv.ShapeDtypeStruct((2, 3), "float32")
    with pytest.raises(ArgumentError, match=r"layout \(0, 2\) for f32\[2,3\]"):
        ffi.ffi_call("spelled", shape, output_layouts=(0, 2))
    with pytest.raises(ArgumentError, match=r"1 operand, but input_layouts has 2"):
        ffi.ffi_call("spelled", shape, input_layouts=[None, None])(X)
    with pytest.raises(ArgumentError, match=r"input_output_aliases has 1: 0"):
        ffi.ffi_call("spelled", shape, input_output_aliases={1: 0})(X)
    with pytest.raises(ArgumentError, match=r"result 0, f32\[2,3\], .*f32\[3,2\]"):
        ffi.ffi_call("spelled", shape, input_output_aliases={0: 0})(X.T)
    with pytest.raises(TypeMismatch, match="dtype"):
        ffi.ffi_call("spelled", cv.ShapeDtypeStruct((), None))


def test_older_interfaces_get_text_and_no_attributes():
    shape = cv.ShapeDtypeStruct((), "float32")
    older = ffi.ffi_call(
        "spelled", shape, custom_call_api_version=1, legacy_backend_config="a=1"
    )
    text = cv.jit(older).lower(1.0).as_text()
    assert 'backend_config = "a=1"' in text
    with pytest.raises(ArgumentError, match=r"attributes \(a\) need the typed"):
        older(1.0, a=1)
    with pytest.raises(ArgumentError, match=r"legacy_backend_config is for"):
        ffi.ffi_call("spelled", shape, legacy_backend_config="a=1")


def test_types_that_xla_does_not_take():
    with pytest.raises(ArgumentError, match=r"register_ffi_type cannot .* 'state'"):
        ffi.register_ffi_type("state", {"type_id": 5})
    with pytest.raises(ArgumentError, match=r"register_ffi_type cannot .* 'state'"):
        ffi.register_ffi_type_id("state", 5)
