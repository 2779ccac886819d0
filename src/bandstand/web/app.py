"""The app: one context, every router in `routes`, and the middleware around them."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI

from bandstand.web import openapi, routes
from bandstand.web.http import problems
from bandstand.web.requests.authentication import check_policies
from bandstand.web.requests.middleware import SecurityMiddleware

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.web.requests.context import Context


def create_app(context: Context, routers: Sequence[APIRouter] | None = None) -> FastAPI:
    """Return the app that serves a context; ValueError if a route declares no policy."""
    app = FastAPI(
        title="Bandstand",
        summary="A radio that learns your taste.",
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # served by a route of `status`, which has a policy like every other
        redirect_slashes=False,
    )
    app.state.context = context
    chosen = find_routers() if routers is None else routers
    for router in chosen:
        check_policies(router.routes)
        app.include_router(router)
    problems.install(app)
    app.state.routes = [route for router in chosen for route in router.routes]
    openapi.install(app, app.state.routes)
    app.add_middleware(SecurityMiddleware, context=context)
    return app


def find_routers() -> list[APIRouter]:
    """Return the router of every module in `routes`, in the order of their names.

    Modules whose name starts with "_" are helpers.
    """
    every = sorted(module.name for module in pkgutil.iter_modules(routes.__path__))
    names = [name for name in every if not name.startswith("_")]
    modules = [importlib.import_module(f"{routes.__name__}.{name}") for name in names]
    found = [getattr(module, "router", None) for module in modules]
    for name, router in zip(names, found, strict=True):
        if not isinstance(router, APIRouter):
            msg = f"routes/{name}.py must have a `router`, got {router!r}"
            raise TypeError(msg)
    return [router for router in found if router is not None]
