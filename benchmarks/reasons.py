"""Why rows are behind a peer, and what it would take: printed where they are.

The first pattern that the subject and the name of a row begin with says it.
"""

import re

CALL = (
    "a call of a compiled program costs some 4 µs, whatever it computes; NumPy and "
    "PyTorch call a function in C, and covector has no C of its own"
)
EAGER = (
    "an eager operation costs about 1 µs: type, choice and the object of its result "
    "are Python; NumPy's and PyTorch's are C, and it would take as much"
)
OF_ARRAYS = (
    "calls are dispatched in Python: about 1 µs a call besides PJRT, and 0.15 µs more "
    "than JAX for each array, most of which is the object around its buffer; it would "
    "take a dispatch in C++ (decision 32)"
)
SCALARS = (
    "an operation on an array of one number costs about 1 µs, as in PyTorch; NumPy's "
    "scalars are no arrays and cost 50 ns"
)
ONE_CORE = (
    "XLA takes some 30 µs to wake a second core, so one computes most of these "
    "(decision 40); PyTorch's threads wait for work awake"
)
TURNED = (
    "it is transposed by a kernel of its own, since in one kernel with the sum XLA "
    "takes 3 to 20 times as long (decision 40); torch.compile has one for both"
)
LAPACK = (
    "jaxlib calls the LAPACK of SciPy's OpenBLAS, PyTorch Intel's MKL, with which "
    "jaxlib's kernels would take as long as PyTorch's (decision 17)"
)
MKL = (
    "PyTorch's products are Intel's MKL, on Intel processors faster than XLA's, which "
    "are YNNPACK's or Eigen's; it would take MKL"
)
SORTED = (
    "it is NumPy's own sort, and besides, numbers become integers whose order is that "
    "of the standard, and arrays go in and out of the program"
)
ONEDNN = (
    "PyTorch calls oneDNN, which has kernels for each shape; XLA's convolution is "
    "Eigen's or YNN's. It would take oneDNN's, through the FFI"
)
ONE_PASS = (
    "PyTorch's kernel keeps a row in the cache between its passes; XLA runs a loop for "
    "each reduction. It would take a kernel of our own, in C"
)
ATTENTION = (
    "PyTorch's kernel never writes the weights of attention to memory; XLA's products "
    "take and give whole arrays. It would take a kernel of our own, in C"
)
SCATTER = "a scatter-add runs on one core, in the order of its elements"
FOURIER = "XLA's transforms are DUCC's (decision 19), PyTorch's are MKL's"
ANGLES = (
    "computed in 64 bits, for an error of at most one unit of rounding at all "
    "magnitudes (decision 23)"
)
INLINE = (
    "while nobody reads results, the next call is prepared beside the program, as by "
    "JAX, whose calls take some 5 µs less, in C++. Programs of 12 µs to 1 ms begin "
    "with that after four calls, shorter ones run on the thread that calls them "
    "(decision 3)"
)
SUMS = (
    "an XLA kernel has one result: each sum is a kernel that reads its operands again, "
    "where torch.compile's has several"
)
LLVM = (
    "LLVM takes longer for one kernel of thousands of operations than for thousands of "
    "kernels of one; the first dozens of calls make up for it"
)

REASONS = {
    "Elementwise: eager .*, (10|1k)$": EAGER,
    "Elementwise: .*, (10|1k)$": CALL,
    "Elementwise: .*, 100k": ONE_CORE,
    "Elementwise: power of floats": ANGLES,
    "Elementwise: lgamma": "two formulas, of which one holds at each number, are both "
    "computed, so that it is accurate at its zeros (decision 23)",
    "Elementwise: angles within": "exact for numbers of any size: ten steps in 64 "
    "bits, of which most numbers need one",
    "Short rows: xᵀ": "the program is JAX's, and the row varies: measured alone, 1.0 "
    "of JAX's time",
    "Short rows: erf⁻¹": "XLA computes both polynomials, of which one holds; so do the "
    "published streams of random numbers",
    "Reductions: sum, 1k": CALL,
    "Reductions: sum, 100k": ONE_CORE,
    "Reductions: sum, 16M": "numbers are read as fast as memory gives them",
    "Reductions: maximum of rows": "JAX's maximum of rows loses NaN; here three "
    "extrema of the bits are formed in one pass, which find it",
    "Reductions: cumsum, ": "a running sum in parallel reads its array twice",
    "Reductions: gradient of sum": ANGLES,
    "Products: matmul, (4|64)²": INLINE,
    "Products: (matmul, (512|2048)|matmul transposed|.*batched|gradient of)": MKL,
    "Products: einsum": "an operand is transposed, so that one product does; NumPy's "
    "program adds up 32 of them, which are OpenBLAS's",
    "Products: tensordot": "a fifth of the time is transposing an operand, which "
    "PyTorch's product reads as it is",
    "Products: matmul of bfloat16": "XLA computes it in float32; PyTorch uses the "
    "processor's instructions on bfloat16",
    "Products: matmul of int8": "XLA has no kernel for the processor's instructions on "
    "bytes",
    "Windows: .*conv ": ONEDNN,
    "Sorting: bincount": SCATTER,
    "Sorting: top 100,000": "NumPy's program selects numbers only; here their places "
    "are found, and the numbers read there",
    "Sorting: sort": SORTED,
    "Sorting: top 8": "PyTorch selects in each row by a routine in C; XLA's and "
    "NumPy's selections take longer, and it would take one of our own",
    "Random numbers: random.poisson": "in the published stream all elements take part "
    "until the last one is done",
    "Random numbers: random.normal, 1,000$": CALL,
    "Random numbers: random.gamma": "the published stream has a key for each number; "
    'method="fast" does without, and is as fast as NumPy',
    "Random numbers: random.permutation": "the published stream sorts twice; others "
    "exchange numbers once",
    "Random numbers: random.choice without": "the published stream sorts all numbers "
    'once; NumPy draws the few, as method="fast" does, in 0.4 ms',
    "Indexing: x.at": SCATTER,
    "Indexing: (x.T \\+ 1|x \\+ x.T)": TURNED,
    "Indexing: (x\\[i\\]|take_along_axis|gradient of an emb)": "it waits for memory at "
    "random places, and varies by a third: measured again, 0.92 to 1.2 of JAX",
    "Indexing: parameters of an MLP": "XLA's kernel copies them as fast as it computes "
    "x · 2 of as many numbers; PyTorch copies each array by a routine in C",
    "Networks: (softmax|layer norm|group norm)": ONE_PASS,
    "Networks: gradients of (layer|batch) norm": SUMS,
    "Training: (train step of a small|gradient of an) MLP": INLINE,
    "Training: (logistic regression|gradient of a transformer)": MKL,
    "Science: distances": "torch.cdist is |x|² + |y|² − 2 x·y, one product, in which "
    "near points lose their digits; so written, covector's is a product as well",
    "Science: heat": "XLA copies the grid after each step, on one core, since a step "
    "cannot write over what it reads; two steps at a time take 0.85 of the time",
    "Networks: .*attention": ATTENTION,
    "Science: Mandelbrot": "each round passes over all points and ends when none is "
    "near; lax.map over the rows around the loop is three times as fast",
    "Science: PageRank": "a scatter-add runs on one core; SciPy's matrix is sorted by "
    "rows before its twenty products",
    "Science: edit distance": "a row is a running minimum of several passes, numba's "
    "one loop",
    "Linear algebra: .* of 16 × 16": CALL,
    "Linear algebra: (qr|eigh|svd|cholesky|least squares|singular|inv|solve)": LAPACK,
    "Signals: r?fft": FOURIER,
    "Eager calls, warm": EAGER,
    "Eager scripts: (loop over|Newton)": SCALARS,
    "Eager scripts: .* updates": "an update makes a new array; NumPy and PyTorch write "
    "in place",
    "Eager scripts": EAGER,
    "Calls of a jitted function, warm": OF_ARRAYS,
    "Loops: (gradient of a )?scan of .* 4 scalars": INLINE,
    "Loops: RNN": "5 kernels a step of some 20 ns each became one, but its products, "
    "tanh and mean follow one on the other and take 60 ns themselves",
    "Loops: compile: (gradient of a )?scan of 1,000 steps": LLVM,
    "Many devices: training step": "with several devices of one CPU a call waits for "
    "its program, for there may be fewer threads than partitions (decision 3)",
    "Several processes, on 2 cores: initialize": "the store that processes share is a "
    "process of its own, which takes 0.1 s to begin; processes of JAX that begin "
    "together take 5 ms in some rounds and a second in most",
    "Several processes, on 2 cores: the gradients' all-reduce": "the compiled programs "
    "are the same; covector's run on the thread that calls them (COVECTOR_ASYNC_CPU=1: "
    "on others, as JAX's do)",
    "Compiling: first call: sin": "the sine is written out, 180 operations (decision "
    "23): large arrays take a fifth of the time of XLA's own",
    "Compiling: compile the gradient of a .* transformer": "the layer and its "
    "transpose are one function each, called twelve times, but XLA clones a function "
    "for each call before it makes code",
    "Import": "NumPy and jaxlib are half of it, 210 modules of Python the rest; "
    "NumPy's are fewer, and more of them C",
}


def reason(subject: str, name: str) -> str:
    """Why the row of this name is behind; empty where nobody has found out."""
    title = f"{subject}: {name}"
    return next((why for start, why in REASONS.items() if re.match(start, title)), "")
