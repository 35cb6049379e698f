"""Linear algebra of stacks of matrices ``[..., m, n]``: factorizations and solutions.

On CPUs each factorization is a call of LAPACK, by the same kernel eagerly and in
programs. A matrix that has no such factorization gives NaN.
"""
