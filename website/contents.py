"""The table of the API reference: its pages, and the names that stand on each.

A page has a title and lines ``module: words``. A word is a public name of the module,
or one of its own modules, for all names that this states. A line without words takes
all public names of the module that no other line takes.
"""

import functools
import importlib
import importlib.util
import pkgutil
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any

import covector
from covector import namespaces

#: section of the navigation → page → what is on it
CONTENTS = {
    "covector": {
        "Arrays": "covector: Array ShapeDtypeStruct typeof float0",
        "Compilation": """
            covector: jit make_jaxpr eval_shape closure_convert named_call
                named_scope
                pure_callback effects_barrier clear_caches ensure_compile_time_eval
                block_until_ready __version__""",
        "Derivatives": """
            covector: grad value_and_grad jvp vjp linearize linear_transpose jacfwd
                jacrev jacobian hessian custom_jvp custom_vjp custom_gradient
                checkpoint remat checkpoint_policies check_rule""",
        "Batching and composing": "covector: vmap compose",
        "Seeing inside": "covector: explain profile explain_nan check_gradients",
        "Devices and shardings": """
            covector: Device devices local_devices device_count local_device_count
                process_count process_index process_indices default_backend device_put
                device_get copy_to_host_async live_arrays reshard make_mesh set_mesh P
                NamedSharding Shard shard_map pmap smap data_parallel
                make_array_from_callback make_array_from_process_local_data
                make_array_from_single_device_arrays""",
        "Mutable references": """
            covector: Ref new_ref empty_ref free_ref freeze
            covector.ref""",
        "Options": """
            covector: config enable_x64 debug_nans debug_infs disable_jit
                default_device default_matmul_precision default_prng_impl
                check_implicit_sums check_tracer_leaks checking_leaks
                check_vector_choice warn_batched_cond explain_cache_misses
                explain_recompiles no_recompile log_compiles make_user_context
                numpy_dtype_promotion numpy_rank_promotion threefry_partitionable
                transfer_guard transfer_guard_device_to_device
                transfer_guard_device_to_host transfer_guard_host_to_device
                print_environment_info progress""",
    },
    "covector.numpy": {
        "Creating arrays": """
            covector.numpy: creation filling ranges matrices mesh_grids""",
        "Types and constants": "covector.numpy: types scalar_types",
        "Arithmetic": """
            covector.numpy: arithmetic ufuncs powers rounding minmax integers""",
        "Exponentials and trigonometry": """
            covector.numpy: exp_log trigonometric special""",
        "Floating point, complex numbers, bits": """
            covector.numpy: floating complex bitwise""",
        "Comparing and choosing": "covector.numpy: comparison selection",
        "Reductions": "covector.numpy: reductions cumulative nan_reductions",
        "Statistics": """
            covector.numpy: statistics order_statistics covariance histograms""",
        "Shapes and axes": """
            covector.numpy: reshaping axis_order concatenation splitting repeating
                padding insert_delete""",
        "Indexing": "covector.numpy: indexing_take index_tricks nonzeros",
        "Sorting, searching, sets": """
            covector.numpy: sorting searching unique_elements sets""",
        "Products": "covector.numpy: matrix_products contraction einsum",
        "Polynomials and sampled functions": """
            covector.numpy: polynomial polynomial_zeros interpolation differences
                convolution windows""",
        "Functions of elements": "covector.numpy: vectorize ufunc",
        "Files and printing": "covector.numpy: files printing",
        "Linear algebra": "covector.numpy.linalg",
        "Fourier transforms": "covector.numpy.fft",
    },
    "covector.lax": {
        "Control flow": """
            covector.lax: control_flow element_loops platforms composites""",
        "Arithmetic": """
            covector.lax: arithmetic powers rounding complex AccuracyMode Tolerance""",
        "Transcendental and special functions": "covector.lax: transcendental special",
        "Comparisons, bits, casts": """
            covector.lax: comparison selection bitwise casting""",
        "Shapes": "covector.lax: creation shapes",
        "Slices and gathers": "covector.lax: slicing gathering",
        "Reductions and sorting": "covector.lax: reductions cumulative windows sorting",
        "Products": "covector.lax: contraction ragged",
        "Convolutions and Fourier transforms": """
            covector.lax: convolution convolution_shapes fft""",
        "Collectives": "covector.lax: parallel ragged_exchange placement",
        "Identities, equations, generators": """
            covector.lax: identities solvers generators""",
        "Linear algebra": "covector.lax.linalg",
    },
    "covector.random": {"Random numbers": "covector.random"},
    "covector.nn": {
        "Neural networks": "covector.nn",
        "Initializers": "covector.nn.initializers",
    },
    "covector.scipy": {
        "Special functions": "covector.scipy.special",
        "Linear algebra": "covector.scipy.linalg",
        "Fourier transforms": "covector.scipy.fft",
        "Signals": "covector.scipy.signal",
        "Statistics": "covector.scipy.stats",
        "Continuous distributions": """
            covector.scipy.stats.beta
            covector.scipy.stats.cauchy
            covector.scipy.stats.chi2
            covector.scipy.stats.dirichlet
            covector.scipy.stats.expon
            covector.scipy.stats.gamma
            covector.scipy.stats.gennorm
            covector.scipy.stats.gumbel_l
            covector.scipy.stats.gumbel_r
            covector.scipy.stats.laplace
            covector.scipy.stats.logistic
            covector.scipy.stats.multivariate_normal
            covector.scipy.stats.norm
            covector.scipy.stats.pareto
            covector.scipy.stats.t
            covector.scipy.stats.truncnorm
            covector.scipy.stats.uniform
            covector.scipy.stats.vonmises
            covector.scipy.stats.wrapcauchy""",
        "Discrete distributions": """
            covector.scipy.stats.bernoulli
            covector.scipy.stats.betabinom
            covector.scipy.stats.binom
            covector.scipy.stats.geom
            covector.scipy.stats.multinomial
            covector.scipy.stats.nbinom
            covector.scipy.stats.poisson""",
        "Minimization, integrals, interpolation": """
            covector.scipy.optimize
            covector.scipy.integrate
            covector.scipy.interpolate""",
        "Images, rotations, clusters, solvers": """
            covector.scipy.ndimage
            covector.scipy.spatial.transform
            covector.scipy.cluster.vq
            covector.scipy.sparse.linalg""",
    },
    "Trees, images, segments": {
        "covector.tree": "covector.tree",
        "covector.tree_util": "covector.tree_util\n covector.flatten_util",
        "covector.image": "covector.image",
        "covector.ops": "covector.ops",
    },
    "Devices and processes": {
        "covector.sharding": "covector.sharding",
        "covector.distributed": "covector.distributed",
        "covector.experimental: meshes and layouts": """
            covector.experimental.layout
            covector.experimental.mesh_utils
            covector.experimental.multihost_utils
            covector.experimental.pjit
            covector.experimental.shard_map""",
    },
    "Debugging and profiling": {
        "covector.analysis": "covector.analysis",
        "covector.debug": "covector.debug",
        "covector.experimental.checkify": "covector.experimental.checkify",
        "covector.profiler": """
            covector.profiler
            covector.experimental.profiler""",
        "covector.memory": "covector.memory",
        "covector.monitoring": "covector.monitoring",
        "covector.test_util": "covector.test_util",
        "covector.environment": "covector.environment",
    },
    "Programs and extensions": {
        "covector.export": "covector.export",
        "covector.ffi": "covector.ffi",
        "covector.extend": "covector.extend",
        "covector.custom_derivatives": """
            covector.custom_derivatives
            covector.custom_batching""",
        "covector.ad_checkpoint": "covector.ad_checkpoint\n covector.ad",
        "covector.stages": "covector.stages",
        "covector.core": "covector.core",
        "covector.dtypes": "covector.dtypes\n covector.typing\n covector.dlpack",
    },
    "Experimental and examples": {
        "covector.experimental": """
            covector.experimental
            covector.experimental.jet
            covector.experimental.ode""",
        "covector.experimental.checkpoint": """
            covector.experimental.checkpoint
            covector.experimental.serialize_executable
            covector.experimental.compilation_cache.compilation_cache""",
        "covector.experimental.sparse": """
            covector.experimental.sparse
            covector.experimental.sparse.linalg""",
        "Optimizers": "covector.example_libraries.optimizers",
        "Layers": "covector.example_libraries.stax",
    },
    "Errors": {"covector.errors": "covector.errors"},
}
#: packages whose modules are public, though ``__all__`` of the package lacks them
_OPEN = ("covector.example_libraries", "covector.experimental")


@dataclass(frozen=True)
class Page:
    """A page of the reference: ``names`` by module, in order."""

    section: str
    title: str
    names: dict[str, tuple[str, ...]]

    @property
    def path(self) -> str:
        """The Markdown file below docs/."""
        folder, name = (_slug(x) for x in (self.section, self.title))
        return str(PurePosixPath("reference", folder, f"{name}.md"))


@functools.cache
def pages() -> tuple[Page, ...]:
    """All pages, in the order of the table."""
    lines = [
        (section, title, [line.split(":") for line in _lines(text)])
        for section, titles in CONTENTS.items()
        for title, text in titles.items()
    ]
    named = {
        module: {n for *_, parts in lines for n in _chosen(parts, module)}
        for module in public_names()
    }
    return tuple(
        Page(
            section,
            title,
            {
                module: tuple(_names(module, words))
                if words
                else tuple(n for n in public_names()[module] if n not in named[module])
                for module, *words in parts
            },
        )
        for section, title, parts in lines
    )


@functools.cache
def public_names() -> dict[str, tuple[str, ...]]:
    """By public module, its public names, without modules."""
    modules, todo = {}, ["covector", *_first_modules()]
    while todo:
        path = todo.pop(0)
        module = importlib.import_module(path)
        members = {name: getattr(module, name) for name in _stated(module)}
        inner = [m.__name__ for m in members.values() if isinstance(m, ModuleType)]
        todo += [m for m in inner if m not in modules and m not in todo]
        names = [n for n, m in members.items() if not isinstance(m, ModuleType)]
        modules[path] = tuple(names)
    return {path: names for path, names in modules.items() if names}


def _first_modules() -> list[str]:
    """The modules of covector that programs may import, and those of open packages."""
    found = [f"covector.{name}" for name in sorted(covector._MODULES)]
    for package in _OPEN:
        path = importlib.import_module(package).__path__
        inner = [f"{package}.{m.name}" for m in pkgutil.iter_modules(path)]
        found += [m for m in inner if hasattr(importlib.import_module(m), "__all__")]
    return found


def _stated(module: Any) -> list[str]:
    """The ``__all__`` of a module; without one, what it defines that is public."""
    if hasattr(module, "__all__"):
        return [*module.__all__]
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and name[0] != "_"
    ]


def _lines(text: str) -> list[str]:
    """Lines, each with those that continue it: they begin with no module."""
    joined = re.sub(r"\s+(?!covector\b)", " ", text.strip())
    return [" ".join(x.split()) for x in re.split(r"\s+(?=covector\b)", joined)]


def _chosen(parts: list[list[str]], module: str) -> list[str]:
    return [n for path, *w in parts if path == module and w for n in _names(path, w)]


def _names(module: str, words: list[str]) -> list[str]:
    return [n for word in words[0].split() for n in _of_word(module, word)]


def _of_word(module: str, word: str) -> list[str]:
    path = f"{module}.{word}"
    if module == "covector" or importlib.util.find_spec(path) is None:
        return [word]
    public = public_names()[module]
    return [name for name in namespaces.declared(path) if name in public]


def _slug(title: str) -> str:
    """Words of a title as a name of a file."""
    words = re.sub(r"[^\w.]+", "-", title.lower()).strip("-")
    return words.removeprefix("covector.")
