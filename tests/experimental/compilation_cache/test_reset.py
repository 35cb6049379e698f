"""The cache under the names of older programs."""

import covector as cv
from covector.experimental.compilation_cache import compilation_cache
from covector.runtime import compilation_cache as cache


def test_programs_are_kept_in_the_folder_until_the_cache_is_reset(tmp_path):
    before = cache.directory()
    try:
        compilation_cache.set_cache_dir(str(tmp_path))
        cv.jit(lambda x: x * 3.25 + 17)(1.0)
        assert list(tmp_path.glob("*.xla"))
        compilation_cache.reset_cache()
        assert cache.directory() is None
    finally:
        cache.set_directory(before)
