"""The main job: a convolutional network learns handwritten digits, start to finish.

Everything here uses covector's public API only, so it doubles as a first example.
Read ``model`` (one image in, ten scores out), then ``adam`` (one step of the
optimizer), then ``training`` (how ``jit``, ``grad`` and ``vmap`` turn the two into a
program). ``report`` shows what came of it.
"""
