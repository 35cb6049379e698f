"""``jit``: trace a function once per signature, compile it, and call that.

    jit(f)(x)   eager          one dictionary look-up, one call of the executable
                while tracing  the operation ``Call`` on the program of f

The signature is the tree of the arguments, the types of the leaves, the static
arguments by value, and the options in force. Programs live with the function object
they were traced from; for a new one an equal function is looked for (``fingerprint``),
which may have been traced before (``program_cache``).
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    Unpack,
    overload,
)

from covector import options, tree
from covector.core.annotations import MemorySize, PyTree, Untyped, decorating
from covector.core.array_like import Array
from covector.core.flat import who_of
from covector.core.jaxpr import run, type_of
from covector.core.references import values_of
from covector.core.source import function_name, take_names
from covector.core.trace import context, current
from covector.dispatch import program_cache, recompiles
from covector.dispatch.arguments import (
    JitOptions,
    JitSpec,
    ProgramKey,
    Signature,
    as_argument,
    check_disjoint,
    complete_argnums,
)
from covector.dispatch.debug_nans import Replayed
from covector.dispatch.jit_shardings import ReshardOutputs, requested_shardings
from covector.dispatch.program import Program
from covector.dispatch.program_cache import NO_CALL, FastPath, StaticsBefore
from covector.dispatch.tracing import find_or_trace
from covector.fingerprints.fingerprint import fingerprint_of
from covector.lowering.compiled import ArgumentsElsewhere, CompiledProgram
from covector.lowering.evaluate import base
from covector.lowering.placement import Placement, common_placement, placement_of
from covector.programs.higher_order.call import call
from covector.tree.failures import recover
from covector.tree.registry import registry

if TYPE_CHECKING:
    from covector.dispatch.stages import Lowered, Traced

P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R")

#: straight to C++: on the way of every call
flatten = registry.flatten


class _SignatureOfFunction:
    """The signature for those who do not look at ``__wrapped__``, as of an instance
    only: ``inspect`` asks the class as well.
    """

    def __get__(self, jitted: Any, owner: type) -> inspect.Signature:
        if jitted is None:
            raise AttributeError("__signature__")
        return inspect.signature(jitted.fun)


class PjitFunction(Generic[P, R]):
    """A function that compiles itself; what ``jit`` returns.

    It is named as in the field, where packages ask for the name of the class.
    """

    #: what it is, for another function that calls it (``fingerprint``)
    fingerprint_fields: ClassVar[tuple[str, ...]] = ("fun", "spec")
    __signature__: _SignatureOfFunction = _SignatureOfFunction()

    def __init__(self, fun: Callable[P, R], spec: JitSpec, who: str) -> None:
        take_names(self, fun)
        self.fun: Callable[..., Any] = fun
        self.spec = spec
        self.who = who
        self.__name__: str = function_name(fun)
        self._simple = not spec.static
        self._statics_before: StaticsBefore | None = None
        self._caches = program_cache.caches_of(fun, spec)
        self.programs: dict[ProgramKey, Program] = self._caches.programs

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if current.trace is not base:
            return self._call_inside(args, kwargs)
        positional, named, form, last = args, kwargs, None, self._caches.last_call
        try:
            if kwargs or not self._simple:
                positional, named, form = self._parts(args, kwargs)
            plain = (*positional, *named.values()) if named else positional
            again = (
                len(plain) == last.count
                and form == last.form
                and options.current() is last.options
            )
        except Exception:  # noqa: BLE001  the slow path says what is wrong with it
            return self._call_first(args, kwargs)
        try:
            if again:
                return last.call(plain)
        except ArgumentsElsewhere:  # the program has not run
            last = NO_CALL
        given: Any = (positional, named) if named else positional
        try:
            leaves, in_tree = flatten(given)
            again = (
                form == last.form
                and in_tree == last.in_tree
                and options.current() is last.options
            )
        except Exception:  # noqa: BLE001  the slow path says what is wrong with it
            recover(given)
            return self._call_first(args, kwargs)
        try:
            if again:
                return last.call(leaves)
            if self._caches.fast_path:
                return self._caches.call_again(plain, leaves, in_tree, form, self)
        except ArgumentsElsewhere:
            pass
        return self._call_first(args, kwargs)

    def _parts(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
        """What is traced of the arguments, in the order of leaves; and the form of the
        call, which is None where all arguments are traced, and by position.
        """
        form, before = None, self._statics_before
        if before is not None and before.are_again(args, kwargs):
            return before.taking(args), {}, before.form
        if not self._simple:
            count, names = len(args), list(kwargs)
            args, kwargs, statics = self.spec.split(args, kwargs)
            # An object may have changed since it was looked up, and its hash with it.
            form = hash(statics), statics
            last = self._caches.last_call.form
            if not kwargs and StaticsBefore.can_tell(statics) and form == last:
                now = StaticsBefore(self.spec, count, names, statics, form)
                self._statics_before = now
        if kwargs:
            if len(kwargs) > 1:  # leaves are in the order of the names
                kwargs = dict(sorted(kwargs.items()))
            form = (form, *kwargs)
        return args, kwargs, form

    def _call_first(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> PyTree:
        """A call that was not seen before, or needs a closer look.

        arguments → key → trace → lower → compile → run: each step takes what the one
        before it gave.
        """
        now = options.current()
        if now.disable_jit:
            return self.fun(*args, **kwargs)
        signature = self.signature(args, kwargs)
        signature.check_values(self.who)
        program = self.program(signature)
        if program.captured and not now.checks_values:
            program = program.for_calls()
        donated = program.donated_indices
        if donated:
            signature.check_donated(donated, self.who)
        in_tree, leaves = signature.key.in_tree, signature.leaves
        operands = program.operands(leaves, in_tree, self.who)
        placement, committed = common_placement(operands, self.who, program.meshes)
        compiled = self._compiled(program, placement)
        again = functools.partial(self._traced_afresh, signature)
        outs = program.run(compiled, operands, committed, in_tree, self.who, again)
        results = program.shardings.put_outputs(outs)
        if now.keeps_programs and not now.checks_values:
            positional, named, form = self._parts(args, kwargs)
            in_tree = flatten((positional, named) if named else positional)[1]
            there = tuple(map(placement_of, leaves))
            key = now, in_tree, form, signature.key.types, there
            if key not in self._caches.fast_path:
                out_tree = program.out_tree
                if results is not outs:
                    out_tree = ReshardOutputs(out_tree, program.shardings)
                placements = list(map(placement_of, outs))
                if program.references is not None:
                    bound = program.bind_references(
                        compiled, leaves, operands, placements, self.who
                    )
                else:
                    bound = compiled.bind_fast_path(
                        program.captured, leaves, out_tree, donated, placements
                    )
                own = program.references is None
                self._caches.fast_path[key] = FastPath(
                    bound, own and compiled.reads_at_once
                )
        for i in donated:
            leaves[i].forget()
        if program.references is not None:
            results = program.references.write_back(leaves, results, True)
        return program.out_tree.unflatten(results)

    def _traced_afresh(self, signature: Signature) -> Replayed:
        """The program for a signature in the context that is now."""
        key = signature.key._replace(context=context())
        return find_or_trace(self, key, False).replayed(signature.leaves, key.in_tree)

    def _compiled(self, program: Program, placement: Placement) -> CompiledProgram:
        """The executable of a program for a placement."""
        found = program.compiled.get(placement)
        if found is not None:
            return found
        if program.compiled:
            recompiles.refuse_device(self.who, next(iter(program.compiled)), placement)
        name, keep_unused = self.__name__, self.spec.keep_unused
        lowered = program.lower(placement, name, self.who, keep_unused)
        made = lowered.compile(dict(self.spec.compiler_options))
        if self.spec.memory_limit is not None:
            self.spec.check_memory(made, self.who)
        return program.compiled.setdefault(placement, made)

    def _call_inside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> PyTree:
        """A call under another transformation, or with jit switched off."""
        if options.current().disable_jit:
            return self.fun(*args, **kwargs)
        signature = self.signature(args, kwargs)
        signature.check_values(self.who)
        key = signature.key
        # Not by ``program``: functions nest as deep as Python's stack lets them.
        program = self.programs.get(key) or find_or_trace(self, key)
        requested, leaves = program.shardings, signature.leaves
        captured: Sequence[Any] = program.captured
        if program.references is not None:
            given = captured, leaves, self.who
            captured, leaves = program.references.values(*given, executed=False)
        operands = [*captured, *requested.constrain(leaves, requested.ins)]
        if self.spec.inline:
            outs: Sequence[Any] = run(program.jaxpr, operands)
        else:
            outs = call(program.jaxpr)(*operands)
        outs = requested.constrain(outs, requested.outs)
        return program.out_tree.unflatten(
            program.results(signature.leaves, outs, False)
        )

    # -- step by step ------------------------------------------------------------------

    def trace(self, *args: PyTree, **kwargs: PyTree) -> "Traced":
        """The traced program for these arguments, or what stands for them: types,
        or ``ShapeDtypeStruct``s, which may say shardings.
        """
        signature = self.signature(args, kwargs)
        program = self.program(signature, called=False)
        everything = values_of([*program.captured, *signature.leaves])
        known = program.shardings.abstract_inputs(everything)
        placement, _ = common_placement(known, self.who, program.meshes)
        in_tree, name = signature.key.in_tree, self.__name__
        from covector.dispatch.stages import Traced  # noqa: PLC0415  most programs run

        return Traced(program, in_tree, placement, name, self.who, self.spec)

    def lower(self, *args: PyTree, **kwargs: PyTree) -> "Lowered":
        """The StableHLO for these arguments: ``trace(*args).lower()``."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        """The tree of ``ShapeDtypeStruct``s of the result, without computing it."""
        return self.trace(*args, **kwargs).out_info

    # -- from arguments to programs ----------------------------------------------------

    def signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
        """The flat arguments of a call, and its static ones separately."""
        statics: tuple[Any, ...] = ()
        if not self._simple:
            split = self.spec.split_static(args, kwargs, self.who, self.fun)
            args, kwargs, statics = split
        leaves, in_tree = tree.flatten((args, kwargs))
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, Array):
                leaves[i] = as_argument(leaf, i, in_tree, self.who, self.fun, statics)
        types = tuple(map(type_of, leaves))
        return Signature(leaves, ProgramKey(in_tree, types, statics, context()))

    def program(self, signature: Signature, *, called: bool = True) -> Program:
        """The traced function for a signature, kept under its key."""
        key = signature.key
        return self.programs.get(key) or find_or_trace(self, key, called)

    def clear_cache(self) -> None:
        """Forget all programs: the next call traces and compiles again."""
        fingerprint, _ = fingerprint_of(self.fun)
        program_cache.evict(fingerprint, self.spec)
        self.programs.clear()
        self._caches.forget_calls()

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload  # of unknown parameters: mypy loses them in functools.partial
    def __get__(
        self: "PjitFunction[[Untyped, Untyped, Untyped, Untyped], R]",
        instance: object,
        owner: Any = None,
    ) -> "PjitFunction[..., R]": ...
    @overload
    def __get__(
        self: "PjitFunction[Concatenate[Any, Rest], R]",
        instance: object,
        owner: Any = None,
    ) -> "PjitFunction[Rest, R]": ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self.who}>"


@overload
def jit(
    fun: Callable[P, R], /, **options: Unpack[JitOptions]
) -> PjitFunction[P, R]: ...
@overload
def jit(
    fun: None = None, /, **options: Unpack[JitOptions]
) -> Callable[[Callable[P, R]], PjitFunction[P, R]]: ...
@decorating
def jit(
    fun: Callable[..., Any],
    /,
    *,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    inline: bool = False,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    compiler_options: dict[str, Any] | None = None,
    memory_limit: MemorySize | None = None,
) -> Any:
    """``fun`` compiled: traced once for each signature of its arguments, run by XLA.

    Python code that is not an operation on arrays, such as ``print``, runs only while
    ``fun`` is traced, and arrays have no values then.

    Args:
      fun: a function of arrays, or trees of arrays; without it, a decorator is
        returned.
      in_shardings: where arguments are to be: a ``Sharding``, a ``PartitionSpec`` for
        the mesh in force, or a tree of these that is a prefix of the positional
        arguments. Arguments that the user did not put anywhere are put there. None:
        where they are.
      out_shardings: the same of the result. None: as the compiler decides.
      static_argnums, static_argnames: arguments that are part of the program. They must
        be hashable; a new value means a new program.
      donate_argnums, donate_argnames: arguments whose memory the results may take. They
        cannot be used afterwards. A warning tells of those whose memory no result can
        take, since none is of their size.
      inline: write the operations into the surrounding program instead of a call.
      keep_unused: pass arguments to the executable that the program does not read.
      device, backend: the device, or the platform by name, on whose first device all
        arguments are put and the function runs.
      compiler_options: XLA's debug options by name.
      memory_limit: refuse to run a program that needs more memory than this for its
        arguments, results and temporaries: a number of bytes, or such as ``"2GB"``.
        A call inside of another program is a part of that, and is not asked.

    Returns:
      A function with the arguments of ``fun``; ``lower(...)`` stops before it is
      compiled, ``clear_cache()`` forgets all programs.

    Raises:
      TypeMismatch: ``fun`` is not a function, or a generator.
      StaticArgumentError: an argument is neither an array nor static, or a static one
        is not hashable; the function has no such argument; one is static and donated.
      ShardingError: a sharding does not fit its array.
      DeviceMismatch: arguments are on different devices, or elsewhere than
        in_shardings says.
      OverBudget: the compiled program needs more than ``memory_limit``.

    >>> import covector as cv
    >>> float(cv.jit(lambda x: x * 2)(3.0))
    6.0

    See also: ``make_jaxpr``, ``explain``, ``no_recompile``,
    ``ensure_compile_time_eval``.
    """
    who = who_of("jit", fun)
    static = complete_argnums(fun, who, static_argnums, static_argnames)
    donated = complete_argnums(fun, who, donate_argnums, donate_argnames, "donate")
    check_disjoint(who, static, donated)
    chosen = tuple(sorted((compiler_options or {}).items()))
    shardings = requested_shardings(in_shardings, out_shardings, device, backend)
    limit = None
    if memory_limit is not None:
        from covector.core.sizes import bytes_of  # noqa: PLC0415  rarely given

        limit = bytes_of(memory_limit, f"the memory_limit of {who}")
    spec = JitSpec(static, donated, inline, keep_unused, chosen, shardings, limit)
    return PjitFunction(fun, spec, who)
