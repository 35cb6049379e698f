"""The rooms of the tests are those of the sources: a fault and its test lie alike."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "covector"

#: folders of tests that are about all of the sources, or serve other tests
OF_NO_ROOM = {
    "anomalies",
    "compat/programs",
    "ecosystem",
    "golden",
    "mutation",
    "operations/cases",
    "public",
    "random_programs",
    "typing",
    "users",
}
#: modules of these rooms that another file than their own tests
ELSEWHERE = {
    "nn/drawing.py": "nn/test_initializers.py",
    "nn/orthogonal.py": "nn/test_initializers.py",
    "core/array_like.py": "numpy/test_array_members.py",
    "core/host_budget.py": "lowering/test_evaluate.py",
    "core/operation_caches.py": "core/test_primitive.py",
    "core/key_types.py": "core/test_dtypes.py",
    "core/methods.py": "numpy/test_array_members.py",
    "core/operators.py": "numpy/test_array_members.py",
    "core/work.py": "analysis/costs/test_operations.py",
    "lowering/compiled.py": "lowering/test_compile.py",
    "lowering/host_calls.py": "callbacks/test_effects.py",
    "lowering/loading.py": "runtime/test_endings.py",
    "lowering/sharding.py": "lowering/test_programs_over_meshes.py",
    "lowering/spelling.py": "lowering/test_hlo.py",
    "lowering/wide_keys.py": "random/test_generators.py",
    "transforms/checks.py": "transforms/test_derivatives.py",
    "transforms/derivative_types.py": "test_types_of_users.py",
    "transforms/gradients.py": "transforms/test_derivatives.py",
    "transforms/jacobian_blocks.py": "transforms/test_jacobian.py",
    "transforms/linear_functions.py": "transforms/test_derivatives.py",
    "transforms/mapped_axes.py": "transforms/test_vmap.py",
}


def rooms(root: Path, modules: str) -> set[str]:
    """The folders below ``root`` with such modules in them or below."""
    files = [f for f in root.rglob(modules) if "__pycache__" not in f.parts]
    found = {p for f in files for p in f.relative_to(root).parents}
    return {p.as_posix() for p in found} - {"."}


def test_every_room_of_the_sources_has_tests():
    missing = rooms(SOURCE, "*.py") - rooms(TESTS, "test_*.py")
    assert not missing, f"no tests in tests/ for {', '.join(sorted(missing))}"


def test_every_folder_of_tests_is_a_room_of_the_sources():
    strange = rooms(TESTS, "*.py") - rooms(SOURCE, "*.py")
    strange = {r for r in strange if not OF_NO_ROOM & {r, r.partition("/")[0]}}
    assert not strange, f"no room of src/covector is named {', '.join(sorted(strange))}"


@pytest.mark.parametrize("room", ["core", "lowering", "transforms", "nn"])
def test_every_module_has_a_file_of_direct_tests(room):
    modules = [f for f in (SOURCE / room).glob("*.py") if f.stem != "__init__"]
    missing = [
        f"{room}/{f.name}"
        for f in modules
        if not (TESTS / room / f"test_{f.name}").exists()
    ]
    assert set(missing) == {m for m in ELSEWHERE if m.startswith(f"{room}/")}
    gone = [m for m in missing if not (TESTS / ELSEWHERE[m]).exists()]
    assert not gone, f"the tests of {', '.join(gone)} are elsewhere"
