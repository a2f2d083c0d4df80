"""What is used of JAX beyond its documented interface stands on one list, with reasons, and can be done without."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest

from finitewidth import _jax

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "src" / "finitewidth"
UNDOCUMENTED = {"core", "extend", "interpreters", "experimental", "lib", "stages", "api_util", "linear_util"}
# Attributes of JAX's own objects that a program is made of, which have no promise to stay.
OF_PROGRAMS = {"jaxpr", "eqns", "invars", "outvars", "constvars", "consts", "primitive", "aval", "val", "effects"}


def names_beyond(source: str) -> set[str]:
    """Names in a source file that JAX does not document: modules, settings, options, and what stands inside programs."""
    tree, found = ast.parse(source), set()
    reads_programs = "jaxpr" in source
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("jax", "jaxlib"):
            parts = [*(node.module or "").split(".")]
            names = [".".join((*parts, name.name)) for name in node.names]
            found |= {name for name in names if is_beyond(name)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names if is_beyond(name.name)}
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            found |= {name} if is_beyond(name) else set()
            if reads_programs and node.attr in OF_PROGRAMS | {"params"}:
                found |= {node.attr}
        elif isinstance(node, ast.keyword) and node.arg == "compiler_options":
            found |= {"compiler_options"}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value.removeprefix("--").partition("=")[0]
            is_option = re.fullmatch(r"(xla|jax)_[a-z]\w+", word) and word not in SETTINGS
            found |= {word} if is_option else set()
        if reads_programs:
            found |= words_inside_programs(node)
    return found


def is_beyond(name: str) -> bool:
    """Of a dotted name: whether it leads out of what JAX documents."""
    parts = name.split(".")
    if parts[0] not in ("jax", "jaxlib") or len(parts) == 1:
        return False
    if parts[0] == "jaxlib" or any(part.startswith("_") for part in parts):
        return True
    if parts[1] == "config":
        return len(parts) > 2 and parts[2] not in ("update", *SETTINGS)
    return parts[1] in UNDOCUMENTED


# Settings that JAX's page on configuration options explains.
SETTINGS = (
    "jax_enable_x64",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
)


def words_inside_programs(node: ast.AST) -> set[str]:
    """What the name of a primitive is compared with, and the parameters of equations that are asked for."""
    if isinstance(node, ast.Compare):
        return {side.value for side in (node.left, *node.comparators) if is_text(side)}
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("params") and is_text(node.slice):
        return {node.slice.value}
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("params.get"):
        return {argument.value for argument in node.args if is_text(argument)}
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_CALLS":
        return {name.value for name in node.value.elts}
    return set()


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


FOUND = {
    path.relative_to(PACKAGE).as_posix(): names
    for path in sorted(PACKAGE.rglob("*.py"))
    if (names := names_beyond(path.read_text("utf-8")))
}


def listed() -> dict[str, set[str]]:
    """The table of CONTRIBUTING.md: for each file the names that it may use."""
    section = (
        (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8").partition("## What is used of JAX")[2].partition("\n## ")[0]
    )
    table = {}
    for row in section.splitlines():
        cells = [cell.strip() for cell in row.split(" | ")]
        if row.startswith("| `") and len(cells) == 4:
            for file in re.findall(r"`([^`]+)`", cells[0]):
                table.setdefault(file, set()).update(re.findall(r"`([^`]+)`", cells[1]))
    return table


def test_what_is_used_is_listed():
    """No more, and no less: a new use comes with a reason, and with what happens in a version without it."""
    assert listed() == FOUND


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from jax.core import eval_context", {"jax.core.eval_context"}),
        ("import jax\njax.core.Tracer", {"jax.core.Tracer", "jax.core"}),
        ("from jax._src.core import x", {"jax._src.core.x"}),
        ("import jaxlib.xla_client", {"jaxlib.xla_client"}),
        ("from jax.experimental import host_callback", {"jax.experimental.host_callback"}),
        ("jax.jit(f, compiler_options={'xla_new': 1})", {"compiler_options", "xla_new"}),
        ("os.environ['XLA_FLAGS'] = '--xla_some=true'", {"xla_some"}),
        ("jax.config.update('jax_some_setting', 1)", {"jax_some_setting"}),
        ("jax.config.jax_other", {"jax.config.jax_other"}),
        ("p = equation.params['window']\njaxpr", {"window", "params"}),
        ("equation.primitive.name == 'dot'\njaxpr", {"dot", "primitive"}),
        ("from jax import lax\nimport jax.numpy as jnp\njax.jit(f)\njnp.sum(x)\njax.config.jax_enable_x64", set()),
    ],
)
def test_a_new_use_is_found(source, found):
    assert names_beyond(source) == found


def test_what_is_traced_is_known_without_its_name():
    """Where `jax.core` has no `Tracer`: the type is the one that JAX's own name means."""
    assert _jax.type_when_traced() is jax.core.Tracer


def test_who_asks_jax_for_haste_is_heard(monkeypatch):
    """And where JAX knows no such setting, nobody asked."""
    before = _jax.asked_for_haste()
    try:
        for asked in (True, False):
            jax.config.update("jax_disable_most_optimizations", asked)
            assert _jax.asked_for_haste() is asked
    finally:
        jax.config.update("jax_disable_most_optimizations", before)
    monkeypatch.setattr(_jax, "jax", SimpleNamespace(config=SimpleNamespace()))
    assert _jax.asked_for_haste() is False


LACKING = """
import equinox, jax, jax.core, jax.extend.core, numpy as np
del jax.core.Tracer, jax.core.eval_context
for name in "ClosedJaxpr Jaxpr JaxprEqn Literal Var jaxpr_as_fun".split():
    delattr(jax.extend.core, name)
import finitewidth as fw
from finitewidth import _compile, _jax
assert (repr(_jax.Var), _jax.eval_context.__name__) == ("typing.Any", "ensure_compile_time_eval")
_compile._IN_HASTE = {"xla_of_no_version": 1}
net, x = fw.MLP("relu", (2, 8, 1), C_W=2.0), np.eye(2)
np.testing.assert_allclose(fw.flow(net, x).K[0], np.eye(2))
params = {"W": np.ones((2, 1))}
np.testing.assert_allclose(fw.empirical_ntk(lambda w, x: x @ w["W"], params, x, outputs="trace"), np.eye(2))
np.testing.assert_allclose(jax.jit(lambda s: s * fw.kernel(fw.MLP("relu", (2, 8, 1), C_W=2.0), x).max())(np.float32(2.0)), 2.0)
"""


def test_a_version_that_lacks_all_of_it():
    """No name beyond the interface, no option of the compiler: the same results, more slowly."""
    ran = subprocess.run([sys.executable, "-c", LACKING], env=os.environ, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
