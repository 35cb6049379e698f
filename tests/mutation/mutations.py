"""The faults that ``make mutation`` plants: where, what, and which tests should notice.

Each is a replacement of text that stands exactly once in its file.
"""

# ruff: noqa: E501  the text is that of the sources

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One fault. ``tests``: arguments of pytest, the fewest tests that notice it."""

    fault: str
    file: str
    old: str
    new: str
    tests: str


def _in(file: str, tests: str, *faults: tuple[str, str, str]) -> list[Mutation]:
    return [Mutation(fault, file, old, new, tests) for fault, old, new in faults]


LAWS = "tests/operations/test_laws.py::"
VALUES = LAWS + "test_the_value_is_that_of_the_reference"
BATCHES = LAWS + "test_vmap_is_a_loop"
DERIVATIVES = LAWS + "test_the_derivative_is_that_of_difference_quotients"
LOWERINGS = LAWS + "test_the_lowering_is_as_it_was"
TRANSPOSES = LAWS + "test_the_transpose_is_the_adjoint"

MUTATIONS: list[Mutation] = [
    # -- core --------------------------------------------------------------------------
    *_in(
        "core/promotion.py",
        "tests/core/test_promotion.py::test_every_pair_promotes_as_in_the_field",
        (
            "int8 and uint8 meet in a wider unsigned dtype",
            "    dtypes.int8: (dtypes.int16,),",
            "    dtypes.int8: (dtypes.uint16, dtypes.int16),",
        ),
        (
            "int64 and floats meet in float64",
            "    dtypes.int64: (float,),",
            "    dtypes.int64: (dtypes.float64,),",
        ),
        (
            "a weak result is not weak",
            "        return _default(common, x64), True",
            "        return _default(common, x64), False",
        ),
    ),
    *_in(
        "core/convert.py",
        "tests/core/test_dtypes.py::test_infinities_and_nan_as_integers_are_the_limits_and_zero "
        "tests/core/test_arrays_from_outside.py",
        (
            "infinity becomes the smallest integer",
            "else limits.max if value > 0 else limits.min",
            "else limits.min",
        ),
        (
            "the largest integer does not fit",
            "if limits.min <= value <= limits.max:",
            "if limits.min <= value < limits.max:",
        ),
        (
            "an array shares the memory of the caller's",
            'host = np.array(values, dtype, order="C")',
            'host = np.asarray(values, dtype, order="C")',
        ),
    ),
    *_in(
        "core/masks.py",
        "tests/transforms/test_derivatives.py::test_linearize_gives_float0_for_integers",
        (
            "values go to the first entries of a mask",
            "    return [next(given) if m else None for m in mask]",
            "    return [next(given, None) for m in mask]",
        ),
    ),
    *_in(
        "core/varying.py",
        "tests/core/test_varying.py",
        (
            "a cotangent is not summed over devices",
            "    if more:\n        (ct,) = _LateBinding.cast(more)",
            "    if not more:\n        (ct,) = _LateBinding.cast(more)",
        ),
    ),
    # -- transformations ---------------------------------------------------------------
    *_in(
        "transforms/transpose.py",
        "tests/transforms/test_derivatives.py::test_a_complex_argument_of_a_real_function",
        (
            "of several cotangents the last counts",
            "                totals[atom] = ct if known is None else add(known, ct)\n    ",
            "                totals[atom] = ct\n    ",
        ),
    ),
    *_in(
        "transforms/linearize.py",
        "tests/transforms/test_derivatives.py::test_auxiliary_results_of_nested_derivatives_belong_to_the_outer_one "
        "tests/programs/custom_rules/test_custom_jvp.py::test_a_rule_that_computes_values_and_tangents_together_serves_reverse_mode",
        (
            "the tangent of another jvp counts as this one's",
            "            if type(a) is LinearTracer and a.owner is self:\n"
            "                primals",
            "            if type(a) is LinearTracer:\n                primals",
        ),
        (
            "values and tangents are computed together inside of rules",
            "    return not isinstance(trace, SplitTrace)",
            "    return True",
        ),
    ),
    *_in(
        "core/primitive.py",
        f"{DERIVATIVES} -k contraction.dot_general",
        (
            "only the last of several operands has a derivative",
            "total = term if total is None else total + term",
            "total = term",
        ),
    ),
    *_in(
        "transforms/batch.py",
        "tests/transforms/test_vmap.py::test_nested_batches_are_outer_products "
        "tests/test_composition.py::test_every_pair_of_transformations_composes[jacrev-vmap]",
        (
            "the tracer of another batch counts as this one's",
            "            if type(a) is BatchTracer and a.owner is self:",
            "            if type(a) is BatchTracer:",
        ),
        (
            "the shape of a lane keeps the batch axis at the end",
            "shape[:dim] + shape[dim + 1 :])",
            "shape[:dim] + shape[dim + 1 :][::-1])",
        ),
    ),
    *_in(
        "transforms/vmap.py",
        "tests/transforms/test_vmap.py::test_forms_of_out_axes",
        (
            "out_axes is not looked at",
            "x if w is None else batched(size, x, d, w)",
            "x if w is None else batched(size, x, d, 0)",
        ),
    ),
    *_in(
        "transforms/gradients.py",
        "tests/transforms/test_derivatives.py::test_an_argument_named_twice_is_refused "
        "tests/transforms/test_derivatives.py::test_reduce_makes_a_scalar_of_the_result",
        (
            "negative argnums are not brought inside",
            "        indices.append(n % len(args))",
            "        indices.append(n)",
        ),
        (
            "auxiliary results are lost",
            "return (result, value[1]) if has_aux else result",
            "return (result, value[0]) if has_aux else result",
        ),
    ),
    # -- operations --------------------------------------------------------------------
    *_in(
        "operations/cumulative.py",
        f"{TRANSPOSES} {BATCHES} -k cumulative.cumsum",
        (
            "the transpose of a running sum runs forwards",
            "        return [Cumsum(self.axis, not self.reverse)(cotangents[0])]",
            "        return [Cumsum(self.axis, self.reverse)(cotangents[0])]",
        ),
        (
            "a batch in front does not move the axis",
            "        axis = self.axis + (dim <= self.axis)",
            "        axis = self.axis + (dim < self.axis)",
        ),
    ),
    *_in(
        "operations/reductions.py",
        "tests/lax/test_reductions.py::test_a_tie_for_the_extremum_shares_the_derivative",
        (
            "elements that tie all get the whole derivative",
            "lambda dx: (div(total(mul(dx, hits)), count),)",
            "lambda dx: (total(mul(dx, hits)),)",
        ),
    ),
    *_in(
        "operations/slicing.py",
        f"{LOWERINGS} {TRANSPOSES} -k 'slicing] or slicing.pad'",
        (
            "a slice with steps loses its last element",
            "(limit - start - 1) // step + 1",
            "(limit - start) // step",
        ),
        (
            "what a padding cut off has a cotangent",
            "            around = Pad(tuple([(-low, -high, 0) for low, high, _ in config]))",
            "            around = Pad(tuple([(-low, high, 0) for low, high, _ in config]))",
        ),
    ),
    *_in(
        "operations/selection.py",
        f"{VALUES} -k selection.select_n",
        (
            "the cases of a bool change places",
            "np.where(which, cases[1], cases[0])",
            "np.where(which, cases[0], cases[1])",
        ),
        (
            "a choice that is out of range wraps",
            'np.choose(which, cases, mode="clip")',
            'np.choose(which, cases, mode="wrap")',
        ),
    ),
    *_in(
        "operations/casting.py",
        f"{VALUES} {TRANSPOSES} -k 'casting and (u8 or c128)'",
        (
            "integers are not saturated",
            "            return _saturate(x, to)",
            "            return x.astype(to)",
        ),
        (
            "the cotangent of a cast keeps the wrong dtype",
            "        return [ConvertElementType(x.type.dtype)(cotangents[0])]",
            "        return [ConvertElementType(self.dtype)(cotangents[0])]",
        ),
    ),
    *_in(
        "operations/sorting.py",
        f"{DERIVATIVES} -k sorting.sort",
        (
            "tangents are not sorted with their values",
            "return [dx if dx is None else along(dx, order, axis) for dx in tangents]",
            "return list(tangents)",
        ),
    ),
    *_in(
        "operations/families.py",
        f"{DERIVATIVES} -k contraction.dot_general",
        (
            "the derivative with respect to the right operand is lost",
            "[lambda dl: self(dl, rhs), lambda dr: self(lhs, dr)]",
            "[lambda dl: self(dl, rhs), None]",
        ),
    ),
    *_in(
        "operations/joining.py",
        f"{BATCHES} -k joining.concatenate",
        (
            "a batch of joined arrays is joined along another axis",
            "(Concatenate(self.dimension + 1)(*align(size, args, dims)),), (0,)",
            "(Concatenate(self.dimension)(*align(size, args, dims)),), (0,)",
        ),
    ),
    *_in(
        "operations/gathering.py",
        f"{DERIVATIVES} {VALUES} -k 'gathering.fill or gathering.gather'",
        (
            "what is read outside has a derivative",
            "self.replace(fill_value=0) if self.mode is FILL_OR_DROP else self",
            "self",
        ),
        (
            "small numbers read outside wrap around",
            "fill = self.fill(x.dtype) if self.mode is FILL_OR_DROP else None",
            "fill = None",
        ),
    ),
    *_in(
        "operations/scattering.py",
        f"{DERIVATIVES} -k gathering.Scatter",
        (
            "what was overwritten keeps its derivative",
            "            return (_adding(self)(cleared, indices, kept),)",
            "            return (_adding(self)(dx, indices, kept),)",
        ),
    ),
    *_in(
        "operations/dynamic_slicing.py",
        f"{DERIVATIVES} -k slicing.dynamic_update_slice",
        (
            "an update keeps the derivative of what it replaced",
            "            return (self(dx, dupdate, *starts),)",
            "            return (self(dx, zeros(update.type), *starts),)",
        ),
    ),
    *_in(
        "operations/logarithms.py",
        f"{DERIVATIVES} -k transcendental.log",
        (
            "the logarithm's slope is a product",
            "        return [lambda dx: div(dx, x)]",
            "        return [lambda dx: mul(dx, x)]",
        ),
    ),
    # -- programs ----------------------------------------------------------------------
    *_in(
        "programs/control_flow/scan.py",
        "tests/programs/control_flow/test_scan.py::test_a_short_reversed_scan_gives_its_rows_in_the_order_of_its_input "
        "tests/programs/control_flow/test_scan.py::test_a_scan_is_its_steps[running_sum-grad]",
        (
            "an eager reversed scan keeps its rows in order",
            "        if self.reverse:\n            rows.reverse()",
            "        if self.reverse and len(rows) > 2:\n            rows.reverse()",
        ),
        (
            "a reversed scan runs forwards",
            "        rows = []\n        for i in reversed(steps) if self.reverse else steps:",
            "        rows = []\n        for i in steps:",
        ),
        (
            "the way back runs in the order of the way there",
            "        reverse = self.reverse != flip",
            "        reverse = self.reverse",
        ),
    ),
    *_in(
        "programs/control_flow/loop_lowering.py",
        "tests/programs/control_flow/test_scan.py::test_a_compiled_scan_takes_the_steps_that_do_not_fill_a_turn",
        (
            "steps that do not fill a turn are left out",
            "    for i in range(done, scan.length):",
            "    for i in range(done, scan.length if turns < 2 else done):",
        ),
    ),
    *_in(
        "programs/control_flow/loop_lowering.py",
        "tests/programs/control_flow/test_while_loop.py::test_an_unsigned_counter_that_counts_down_takes_its_last_step",
        (
            "counters without a sign stay so",
            "    if type.shape or not dtypes.is_unsigned(type.dtype):",
            "    if not type.shape or not dtypes.is_unsigned(type.dtype):",
        ),
    ),
    *_in(
        "programs/control_flow/cond.py",
        "tests/programs/control_flow/test_cond.py::test_a_branch_is_the_one_chosen",
        (
            "a batch of predicates forgets results that all lanes share",
            "                dim is not None or any(present_mask(ds))",
            "                any(present_mask(ds))",
        ),
    ),
    *_in(
        "programs/higher_order/partition.py",
        "tests/programs/remat/test_checkpoint.py::test_what_is_kept_follows_the_policy",
        (
            "a policy is not asked",
            "            if saveable and self.policy(e.op, *types, **e.op.parameters):",
            "            if saveable and self.policy is None:",
        ),
    ),
    *_in(
        "programs/custom_rules/custom_call.py",
        "tests/programs/custom_rules/test_custom_call.py::test_each_mode_takes_its_rule "
        "tests/programs/custom_rules/test_custom_jvp.py::test_a_rule_that_computes_values_and_tangents_together_serves_reverse_mode",
        (
            "forward mode does not use the rule of users for reverse mode",
            "        rule = self.jvp if forward or self.vjp is None else self.vjp\n",
            "        rule = self.jvp or self.vjp\n",
        ),
        (
            "values that a rule wrote down have no meaning",
            "if not forward and any(",
            "if forward and any(",
        ),
    ),
    *_in(
        "dispatch/jit.py",
        "tests/dispatch/test_jit.py::test_a_warm_call_looks_at_the_options "
        "tests/dispatch/test_jit.py::test_a_failure_of_a_warm_call_is_raised_once "
        "tests/dispatch/test_jit.py::test_disable_jit_runs_a_function_of_values "
        "tests/dispatch/test_arguments.py",
        (
            "the fast path does not look at the options",
            "                len(plain) == last.count\n                and form == last.form\n"
            "                and options.current() is last.options",
            "                len(plain) == last.count\n                and form == last.form",
        ),
        (
            "the fast path does not look at the form of a call",
            "                len(plain) == last.count\n                and form == last.form",
            "                len(plain) == last.count",
        ),
        (
            "disable_jit compiles",
            "        if now.disable_jit:",
            "        if now.disable_jit is None:",
        ),
    ),
    *_in(
        "lowering/compiled.py",
        "tests/dispatch/test_jit.py tests/dispatch/test_arguments.py",
        (
            "the fast path does not look at the types",
            "if x.type is not t or x.placement is not p",
            "if x.placement is not p",
        ),
    ),
    *_in(
        "fingerprints/fingerprint.py",
        "tests/fingerprints/test_fingerprint.py",
        (
            "NumPy scalars are compared without their bytes",
            "        return Fingerprint(None, (type(x), repr(x), x.dtype, x.tobytes()))",
            "        return Fingerprint(None, (type(x), x.item(), x.dtype))",
        ),
        (
            "NumPy arrays are compared without their values",
            "        return Fingerprint(type(x), (x.dtype, x.shape, x.tobytes()), held)",
            "        return Fingerprint(type(x), (x.dtype, x.shape), held)",
        ),
        (
            "floats are compared as numbers",
            "            return Fingerprint(None, (kind, repr(x)))",
            "            return Fingerprint(None, (kind, x))",
        ),
        (
            "deep structures are looked at for ever",
            "        if self.count > _MOST or len(self.open) > _DEEPEST:",
            "        if self.count > 100 * _MOST:",
        ),
    ),
    *_in(
        "fingerprints/fingerprint_value.py",
        "tests/fingerprints/test_fingerprint.py",
        (
            "an object that is gone equals the one in its place",
            "        return mine is not None and mine is other.ref()",
            "        return True",
        ),
    ),
    *_in(
        "fingerprints/contents.py",
        "tests/fingerprints/test_fingerprint.py",
        (
            "keyword defaults are not looked at",
            "    if fun.__kwdefaults__:\n",
            "    if fun.__kwdefaults__ is fun:\n",
        ),
        (
            "defaults are not looked at",
            "    if fun.__defaults__:\n",
            "    if fun.__defaults__ is fun:\n",
        ),
        (
            "slots are not looked at",
            "                    held.append((name, slot.__get__(x, kind)))",
            "                    slot.__get__(x, kind)",
        ),
    ),
    # -- caches ------------------------------------------------------------------------
    *_in(
        "dispatch/program_cache.py",
        "tests/dispatch/test_jit.py::test_programs_that_functions_share_are_bounded "
        "tests/fingerprints/test_fingerprint.py::test_forgetting_programs",
        (
            "programs are kept without bound",
            "    while len(_entries) > _CAPACITY:",
            "    while len(_entries) > 1000 * _CAPACITY:",
        ),
        (
            "clear_cache forgets nothing that is shared",
            "        if same and key[1] == spec:",
            "        if same and key[1] is None:",
        ),
    ),
    *_in(
        "runtime/cache_folder.py",
        "tests/runtime/test_compilation_cache.py",
        (
            "the head of a file is not compared",
            "        if head != _head(key, serialized):",
            "        if False:",
        ),
        (
            "folders that others can write are trusted",
            "    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):",
            "    if found.st_mode & 0:",
        ),
    ),
    *_in(
        "runtime/compilation_cache.py",
        "tests/runtime/test_compilation_cache.py",
        (
            "the memory of executables has no bound",
            "            if len(_cache.executables) > _ENTRIES_IN_MEMORY:",
            "            if len(_cache.executables) > 1000 * _ENTRIES_IN_MEMORY:",
        ),
    ),
    *_in(
        "core/types.py",
        "tests/core/test_check.py::test_weakness_is_part_of_a_type",
        (
            "types that differ in weakness are one",
            "        key = (shape, dtype, weak, varying)",
            "        key = (shape, dtype, False, varying)",
        ),
    ),
    # -- numpy -------------------------------------------------------------------------
    *_in(
        "numpy/rounding.py",
        "tests/numpy/test_elementwise.py::test_integers_are_rounded_to_tens_and_halves_to_even",
        (
            "integers are not rounded to tens",
            "        return x if decimals >= 0 else _round_integers(x, 10**-decimals)",
            "        return x",
        ),
    ),
    *_in(
        "numpy/arithmetic.py",
        "tests/numpy/test_elementwise.py::test_functions_of_two_operands_have_numpys_values "
        "tests/numpy/test_elementwise.py::test_divmod_has_the_sign_of_the_divisor "
        "-k 'floor_divide or divmod'",
        (
            "integers are divided towards zero",
            "    return _floor_divide_integers(x, y)",
            "    return arithmetic.div(x, y)",
        ),
        (
            "divmod gives the remainder of C",
            "    return floor_divide(x, y), _remainder(x, y)",
            "    return floor_divide(x, y), arithmetic.rem(x, y)",
        ),
    ),
    *_in(
        "numpy/searching.py",
        "tests/numpy/test_reductions.py::test_value_is_jaxs -k nanargmax",
        (
            "nanargmax of nothing but NaN is 0",
            "    return where(none, scalar(-1, position.type.dtype), position)",
            "    return position",
        ),
    ),
    *_in(
        "numpy/differences.py",
        "tests/numpy/test_reductions.py::test_value_is_numpys -k trapezoid",
        (
            "trapezoid does not halve",
            "    return multiply(ReduceSum((k,))(areas), 0.5)",
            "    return ReduceSum((k,))(areas)",
        ),
    ),
    *_in(
        "numpy/sets.py",
        "tests/numpy/test_sorting_and_sets.py::test_value_is_numpys -k setdiff1d",
        (
            "isin does not look at invert",
            "    return not_(found) if invert else found",
            "    return found",
        ),
    ),
    *_in(
        "numpy/updating.py",
        "tests/numpy/test_indexing.py::test_writing_is_numpys -k 'subtract or min'",
        (
            "subtract adds",
            "return update(self.array, self.index, ADD, neg(values), **how)",
            "return update(self.array, self.index, ADD, values, **how)",
        ),
        (
            "min is max",
            "return update(self.array, self.index, MINIMUM, values, **how)",
            "return update(self.array, self.index, MAXIMUM, values, **how)",
        ),
    ),
    *_in(
        "numpy/statistics.py",
        "tests/numpy/test_reductions.py::test_value_is_numpys "
        "-k 'var and (ddof or where)'",
        (
            "ddof is not looked at",
            "    if correction is None:\n        return ddof",
            "    if correction is None:\n        return 0",
        ),
        (
            "a masked variance counts what is masked",
            "        z = z if mask is None else xp.where(mask, z, 0)",
            "        z = z if mask is None else z",
        ),
    ),
    *_in(
        "numpy/promote.py",
        "tests/numpy/test_integers_beyond_the_dtype.py::test_comparisons_with_any_integer_are_those_of_mathematics",
        (
            "comparisons with numbers that do not fit are the wrong way round",
            "    x, sign = as_array(x, who), 1 if y > 0 else -1",
            "    x, sign = as_array(x, who), 1 if y < 0 else -1",
        ),
    ),
    # -- options -----------------------------------------------------------------------
    *_in(
        "options.py",
        "tests/test_options.py::test_a_block_of_an_unknown_option_is_refused_in_words "
        "tests/test_options.py::test_equal_options_are_one_object",
        (
            "unknown names of options pass",
            "    if name not in names():",
            "    if name is None:",
        ),
        (
            "options of a block are those of the process",
            '    return _process["options"] if block is None else block.value',
            '    return _process["options"]',
        ),
    ),
]
