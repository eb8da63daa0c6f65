"""Functions that only compiled code calls: their callers make machine code of them.

Numba makes machine code of every function it compiles, with all that it calls in it, and two
wrappers for callers from outside. Where functions call functions, the innermost is optimised again
at each level, and nobody ever runs what came of it but at the outermost. Most of the time that
compiling took went there. Here a function stops half-way: its callers link it in, and the outermost
one, which is called from Python, optimises everything once.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators, disallow-subclassing-any=false
from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

WITHIN = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Unfinished(JITCodeLibrary):
    """Code that is linked into that of its callers, and never runs by itself."""

    def finalize(self) -> None:
        """Take in what is called; leave all optimisation to whoever calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):
    """Numba's lowering without the machine code."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a function, and tell its callers where its code is."""
        context = state.targetctx
        state.library = Unfinished(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        key = Inside()
        context.insert_user_function(key, state["cr"].fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = state["cr"]._replace(cfunc=key)
        return True


class Inside:
    """What callers find the code of a function by; there is nothing to call."""


class InnerCompiler(CompilerBase):
    """Numba's compiler with this lowering."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, one replaced."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (InnerLowering if each is NativeLowering else each, words)
            for each, words in passes.passes
        ]
        passes.finalize()
        return [passes]


class Inner(CPUDispatcher):
    """A function that compiled code calls; called from Python, it is compiled on its own."""

    def __init__(
        self, py_func: Callable[..., Any], locals: Any = None, targetoptions: Any = None
    ) -> None:
        options = dict(targetoptions or {}) | WITHIN
        super().__init__(py_func, locals, options, pipeline_class=InnerCompiler)

    def add_overload(self, compiled: Any) -> None:
        """Keep what was compiled for callers in compiled code; there is nothing for Python."""
        self.overloads[tuple(compiled.signature.args)] = compiled

    @cached_property
    def alone(self) -> Any:
        """The same for callers in Python."""
        options = {name: each for name, each in self.targetoptions.items() if name not in WITHIN}
        return numba.njit(**options)(self.py_func)

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python."""
        return self.alone(*arguments)
