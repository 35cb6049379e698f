"""What may still change its form: ``io_callback``."""

from covector.programs.callbacks.callback import io_callback

__all__ = ["io_callback"]
