"""Sixty-seven mistakes that users make, each a program that ends with an exception.

``test_mistakes.py`` runs them all and compares what a terminal would show with
``tests/golden/mistakes.txt``.
"""

#: programs by what is wrong in them; IMPORTS go before each
MISTAKES: dict[str, str] = {}

#: the first lines of every program
IMPORTS = """\
import covector as cv
import covector.numpy as cnp
from covector import lax, random
"""

# -- arrays ----------------------------------------------------------------------------

MISTAKES["a layer with a wrong number of inputs"] = """
def dense(w, b, x):
    return cnp.tanh(x @ w + b)

def net(params, x):
    for w, b in params:
        x = dense(w, b, x)
    return x

params = [(cnp.ones((784, 64)), cnp.zeros(64)), (cnp.ones((65, 10)), cnp.zeros(10))]
net(params, cnp.ones((32, 784)))
"""

MISTAKES["operands that do not broadcast"] = """
def mean_squared_error(predicted, target):
    return ((predicted - target) ** 2).mean()

mean_squared_error(cnp.ones((32, 10)), cnp.ones(32))
"""

MISTAKES["the class of arrays, called"] = """
cv.Array([1.0, 2.0])
"""

MISTAKES["a method of another library's tensors"] = """
def loss(x, target):
    return ((x - target.detach()) ** 2).sum()

cv.grad(loss)(cnp.ones(3), cnp.zeros(3))
"""

MISTAKES["a size that is not an integer"] = """
def lower(x):
    return cnp.tri(x.shape[0] / 2) @ x

cv.jit(lower)(cnp.ones(4))
"""

MISTAKES["an axis that a composed function passes on"] = """
def probabilities(logits):
    return cv.nn.softmax(logits, axis=2)

probabilities(cnp.ones((32, 10)))
"""

MISTAKES["arrays that cannot be joined"] = """
cnp.concatenate([cnp.ones((2, 3)), cnp.ones((2, 4))])
"""

MISTAKES["a reshape to another size"] = """
images = cnp.zeros((10, 28, 28))
images.reshape(10, 748)
"""

MISTAKES["an axis that is not there"] = """
cnp.ones((4, 3)).sum(axis=2)
"""

MISTAKES["an assignment to an element"] = """
def clear_first(x):
    x[0] = 0.0
    return x

clear_first(cnp.arange(3.0))
"""

MISTAKES["a column changed in place"] = """
x = cnp.ones((3, 2))
x[:, 0] += 1
"""

MISTAKES["a float as an index"] = """
x = cnp.arange(10)
x[len(x) / 2]
"""

MISTAKES["an array of strings"] = """
labels = cnp.array(["cat", "dog"])
"""

MISTAKES["lists of different lengths"] = """
rows = cnp.array([[1.0, 2.0], [3.0]])
"""

MISTAKES["a misspelled function"] = """
cnp.concatanate([cnp.ones(2), cnp.ones(2)])
"""

MISTAKES["a name of another library"] = """
cv.tensor([1.0, 2.0])
"""

MISTAKES["sizes that differ under one letter"] = """
queries, keys = cnp.ones((8, 16, 64)), cnp.ones((8, 16, 32))
cnp.einsum("hqd,hkd->hqk", queries, keys)
"""

MISTAKES["a dtype that does not exist"] = """
cnp.zeros(3, dtype="float31")
"""

MISTAKES["a keyword that does not exist"] = """
cnp.sum(cnp.ones((2, 2)), axes=0)
"""

MISTAKES["a number that its dtype cannot hold"] = """
cnp.asarray(300, dtype=cnp.uint8)
"""

MISTAKES["a system of equations that is not square"] = """
cnp.linalg.solve(cnp.ones((2, 3)), cnp.ones(2))
"""

MISTAKES["a condition on many values"] = """
x = cnp.array([-1.0, 1.0])
if x > 0:
    print("positive")
"""

MISTAKES["dtypes mixed in lax"] = """
lax.add(cnp.float32(1.0), cnp.int32(1))
"""

MISTAKES["channels of a convolution"] = """
def convolve(images, kernels):
    return lax.conv_general_dilated(images, kernels, (1, 1), "SAME")

convolve(cnp.ones((8, 3, 32, 32)), cnp.ones((16, 1, 3, 3)))
"""

# -- derivatives -----------------------------------------------------------------------

MISTAKES["a gradient of many results"] = """
def errors(w):
    return (w - 1.0) ** 2

cv.grad(errors)(cnp.arange(3.0))
"""

MISTAKES["a gradient with respect to an integer"] = """
def power(n):
    return 2.0 ** n

cv.grad(power)(3)
"""

MISTAKES["a gradient of a loss and an accuracy"] = """
def loss(w):
    return (w ** 2).sum(), 0.97

cv.value_and_grad(loss)(cnp.ones(3))
"""

MISTAKES["a gradient with respect to an argument that is not there"] = """
def loss(w, x):
    return (w * x).sum()

cv.grad(loss, argnums=2)(cnp.ones(3), cnp.ones(3))
"""

MISTAKES["a string among the parameters"] = """
def loss(params):
    return (params["w"] ** 2).sum()

cv.grad(loss)({"w": cnp.ones(3), "name": "dense"})
"""

MISTAKES["NumPy in a loss"] = """
import numpy as np

def loss(x):
    return np.sin(x).sum()

cv.grad(loss)(cnp.ones(3))
"""

MISTAKES["a cotangent of another shape"] = """
outputs, pull_back = cv.vjp(cnp.sin, cnp.ones(3))
pull_back(cnp.ones(4))
"""

MISTAKES["a tangent of another dtype"] = """
cv.jvp(cnp.sin, (cnp.ones(3),), (cnp.arange(3),))
"""

# -- jit -------------------------------------------------------------------------------

MISTAKES["an if on a traced value"] = """
@cv.jit
def relu(x):
    if x > 0:
        return x
    return 0.0

def main():
    relu(1.0)

main()
"""

MISTAKES["a range of a traced number"] = """
@cv.jit
def power(x, n):
    result = 1.0
    for _ in range(n):
        result = result * x
    return result

power(2.0, 3)
"""

MISTAKES["a shape of a traced number"] = """
@cv.jit
def padded(x, n):
    return cnp.concatenate([x, cnp.zeros(n)])

padded(cnp.ones(3), 2)
"""

MISTAKES["a traced value as a float"] = """
@cv.jit
def step(w):
    loss = (w ** 2).sum()
    history.append(float(loss))
    return w - 0.1 * w

history = []
step(cnp.ones(3))
"""

MISTAKES["the item of a traced value"] = """
def loss(w, x):
    scale = x.max().item()
    return (w * x / scale).sum()

cv.jit(cv.grad(loss))(cnp.ones(3), cnp.arange(3.0))
"""

MISTAKES["a mask as an index"] = """
@cv.jit
def mean_of_positive(x):
    return x[x > 0].mean()

mean_of_positive(cnp.array([-1.0, 1.0, 2.0]))
"""

MISTAKES["a list as a static argument"] = """
from functools import partial

@partial(cv.jit, static_argnums=1)
def init(key, sizes):
    return [random.normal(key, (m, n)) for m, n in zip(sizes, sizes[1:])]

init(random.key(0), [784, 64, 10])
"""

MISTAKES["a string as an argument"] = """
@cv.jit
def activate(x, name):
    return cnp.tanh(x) if name == "tanh" else cnp.maximum(x, 0)

activate(cnp.ones(3), "tanh")
"""

MISTAKES["a string as a result"] = """
@cv.jit
def train_step(w):
    return {"w": w * 0.9, "status": "ok"}

train_step(cnp.ones(3))
"""

MISTAKES["a traced value kept for later"] = """
activations = []

@cv.jit
def layer(x):
    y = cnp.tanh(x)
    activations.append(y)
    return y * 2

layer(cnp.ones(3))
activations[0] + 1
"""

MISTAKES["an argument that is missing"] = """
@cv.jit
def predict(params, x):
    return params["w"] * x

predict({"w": cnp.ones(3)})
"""

MISTAKES["a donated array used again"] = """
from functools import partial

@partial(cv.jit, donate_argnums=0)
def update(w, g):
    return w - 0.1 * g

w = cnp.ones(100_000)
new = update(w, cnp.ones(100_000))
print((new - w).sum())
"""

MISTAKES["an object of a class that is not a pytree"] = """
class Model:
    def __init__(self):
        self.w = cnp.ones(3)

@cv.jit
def predict(model, x):
    return (model.w * x).sum()

predict(Model(), cnp.ones(3))
"""

MISTAKES["an error of the user's in a jitted function"] = """
def lookup(table, name):
    return table[name]

@cv.jit
def scaled(x):
    return x * lookup({"low": 0.1, "high": 10.0}, "hihg")

scaled(cnp.ones(3))
"""

MISTAKES["no function for jit"] = """
def loss(w):
    return (w ** 2).sum()

fast_loss = cv.jit(loss(cnp.ones(3)))
"""

# -- vmap ------------------------------------------------------------------------------

MISTAKES["batches of different sizes"] = """
def distance(x, y):
    return cnp.sqrt(((x - y) ** 2).sum())

cv.vmap(distance)(cnp.ones((3, 2)), cnp.ones((4, 2)))
"""

MISTAKES["a batch of a scalar"] = """
cv.vmap(lambda x, temperature: x / temperature)(cnp.ones((8, 3)), 0.5)
"""

MISTAKES["too few in_axes"] = """
def predict(w, b, x):
    return w @ x + b

cv.vmap(predict, in_axes=(None, 0))(cnp.ones((2, 3)), cnp.ones(2), cnp.ones((8, 3)))
"""

MISTAKES["a wrong shape under three transformations"] = """
def layer(w, x):
    return cnp.tanh(x @ w)

def net(params, x):
    for w in params:
        x = layer(w, x)
    return x.sum()

params = [cnp.ones((3, 4)), cnp.ones((5, 2))]
cv.jit(cv.vmap(cv.grad(net), in_axes=(None, 0)))(params, cnp.ones((10, 3)))
"""

MISTAKES["an axis name outside of vmap"] = """
def normalized(x):
    return x / lax.psum(x, "batch")

normalized(cnp.ones(3))
"""

# -- loops and branches ----------------------------------------------------------------

MISTAKES["a carry that changes its shape"] = """
def step(total, x):
    return total + x, total

lax.scan(step, 0.0, cnp.ones((5, 3)))
"""

MISTAKES["a carry that changes its structure"] = """
def step(state, x):
    position, velocity = state
    return (position + velocity, velocity + x, x), position

lax.scan(step, (0.0, 0.0), cnp.ones(5))
"""

MISTAKES["branches with different results"] = """
def clipped(x):
    return lax.cond(x.sum() > 1, lambda x: x / x.sum(), lambda x: 0.0, x)

cv.grad(lambda x: clipped(x).sum())(cnp.ones(3))
"""

MISTAKES["a while loop that changes a shape"] = """
def grow(x):
    return cnp.concatenate([x, x])

lax.while_loop(lambda x: x.size < 100, grow, cnp.ones(1))
"""

MISTAKES["a branch by many values"] = """
lax.cond(cnp.arange(3) > 1, lambda: 1.0, lambda: 2.0)
"""

# -- random numbers and trees ----------------------------------------------------------

MISTAKES["no random key"] = """
weights = random.normal((784, 64))
"""

MISTAKES["a batch of keys as one"] = """
keys = random.split(random.key(0))
random.normal(keys, (3,))
"""

MISTAKES["gradients of another structure"] = """
def sgd(params, gradients, rate=0.1):
    return cv.tree.map(lambda p, g: p - rate * g, params, gradients)

params = {"layers": [{"w": cnp.ones(3), "b": cnp.ones(1)}]}
sgd(params, {"layers": [{"w": cnp.ones(3)}]})
"""

# -- rules and callbacks ---------------------------------------------------------------

MISTAKES["a rule with too few cotangents"] = """
@cv.custom_vjp
def scale(x, factor):
    return x * factor

def forward(x, factor):
    return x * factor, factor

def backward(factor, g):
    return (g * factor,)

scale.defvjp(forward, backward)
cv.grad(lambda x: scale(x, 2.0).sum())(cnp.ones(3))
"""

MISTAKES["a callback that fails"] = """
import numpy as np

def read_sample(i):
    samples = [np.zeros(3, np.float32)]
    return samples[int(i)]

@cv.jit
def loss(w, i):
    x = cv.pure_callback(read_sample, cv.ShapeDtypeStruct((3,), cnp.float32), i)
    return (w * x).sum()

loss(cnp.ones(3), 7)
"""

MISTAKES["a NaN that is watched for"] = """
def entropy(p):
    return -(p * cnp.log(p)).sum()

with cv.debug_nans():
    cv.jit(entropy)(cnp.array([0.5, 0.5, 0.0]))
"""

# -- many devices ----------------------------------------------------------------------

MISTAKES["a batch that the devices cannot share"] = """
from functools import partial
from covector import P

mesh = cv.make_mesh((4,), ("data",))

@partial(cv.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())
def mean(x):
    return lax.pmean(x.mean(), "data")

mean(cnp.ones(10))
"""

MISTAKES["a result that differs between devices"] = """
from functools import partial
from covector import P

mesh = cv.make_mesh((4,), ("data",))

@cv.jit
@partial(cv.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())
def total(x):
    return x.sum()

total(cnp.ones(8))
"""

MISTAKES["a mesh axis that is not there"] = """
from covector import NamedSharding, P

mesh = cv.make_mesh((4,), ("data",))
cv.device_put(cnp.ones((8, 2)), NamedSharding(mesh, P("batch")))
"""

# -- programs written for JAX ----------------------------------------------------------

MISTAKES["a module of a program written for JAX"] = """
import dataclasses
import jax
import jax.numpy as jnp

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Linear:
    weight: jax.Array
    bias: jax.Array

    def __call__(self, x):
        return self.weight @ x + self.bias

@jax.jit
@jax.value_and_grad
def loss(model, x, y):
    predicted = jax.vmap(model)(x)
    return jnp.mean((predicted - y) ** 2)

model = Linear(jnp.ones((3, 2)), jnp.zeros(3))
loss(model, jnp.ones((8, 3)), jnp.ones((8, 3)))
"""
