"""Finds the graph that a command line names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from loopwright.errors import GraphError, unknown_name_message

T = TypeVar("T")


def load_graphs(target: str) -> dict[str, Any]:
    """Import the graphs that a target names.

    Args:
        target: ``MODULE:GRAPH`` (the module importable from here, the graph a variable or a function without required
            arguments that makes one), or a Python file, which may have ``:GRAPH`` behind it too.

    Returns:
        Name -> graph; all graphs of the file if none was named.

    Raises:
        GraphError: If the module cannot be imported or holds no such graph.
    """
    place, _, name = target.partition(":")
    module = _from_file(Path(place)) if place.endswith(".py") else _from_name(place)
    if name:
        if not hasattr(module, name):
            names = [key for key, value in vars(module).items() if _is_graph(value) or _makes_one(value)]
            raise GraphError(f"{place}: {unknown_name_message('graph', name, names)}")
        return {target: _made(getattr(module, name), target)}
    found = {f"{place}:{key}": value for key, value in vars(module).items() if _is_graph(value)}
    compiled = {id(value.builder) for value in found.values() if isinstance(value, CompiledStateGraph)}
    found = {key: value for key, value in found.items() if id(value) not in compiled}
    if not found:
        raise GraphError(f"{place} holds no LangGraph graph; name a function that makes one: {place}:build_graph")
    return found


def _is_graph(value: Any) -> bool:
    return isinstance(value, StateGraph | CompiledStateGraph)


def _makes_one(value: Any) -> bool:
    return isfunction(value) and "Graph" in str(value.__annotations__.get("return"))


def _made(value: Any, target: str) -> Any:
    if callable(value) and not _is_graph(value):
        try:
            value = value()
        except TypeError as error:
            raise GraphError(f"{target} cannot be called without arguments: {error}") from error
    if not _is_graph(value):
        raise GraphError(f"{target} is a {type(value).__name__}, not a LangGraph graph")
    return value


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise GraphError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise GraphError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.parent))
    _import(partial(spec.loader.exec_module, module), str(path))
    return module


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    return _import(partial(importlib.import_module, name), name)


def _import(load: Callable[[], T], name: str) -> T:
    try:
        return load()
    except Exception as error:
        raise GraphError(f"cannot import {name}: {type(error).__name__}: {error}") from error
