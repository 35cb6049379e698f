"""The coordination service: the key-value store, in a process next to process 0.

jaxlib ends every process whose service goes away, at once and without our words. So the
service outlives process 0 by some seconds, in which the others notice and say so.

It is run as a script, and imports nothing but jaxlib: it is to be there soon. Process 0
writes ``host:port number-of-processes`` to its input, hears ``ready``, and in the end
writes ``done``; when it dies instead, the input ends.
"""

import os
import select
import sys
import time

from jaxlib import _jax

#: jaxlib must never be the one who decides that a process is gone: it would end others
NEVER = 10_000_000
#: seconds for which the others are served after process 0 has died
_LINGER = 10.0
_LOOK = 0.5


def serve() -> None:
    """Run the service until process 0 is done, or has died."""
    parent = os.getppid()
    address, size = sys.stdin.readline().split()
    try:
        service = _jax.get_distributed_runtime_service(
            address,
            int(size),
            heartbeat_timeout=NEVER,
            cluster_register_timeout=NEVER,
            shutdown_timeout=1,
            recoverable=True,
        )
    except _jax.JaxRuntimeError as error:
        sys.stdout.write(str(error).splitlines()[0] + "\n")
        return
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while os.getppid() == parent:
        if select.select([sys.stdin], [], [], _LOOK)[0]:
            if sys.stdin.readline():
                service.shutdown()
                return
            break
    time.sleep(_LINGER)


if __name__ == "__main__":
    serve()
