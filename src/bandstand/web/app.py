"""The app: one context, every router in `routes`, the middleware around them, its description.

The OpenAPI description is completed by policies, bodies and the shapes of answers and errors.
"""

import importlib
import pkgutil
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from bandstand.store import app_passwords
from bandstand.web import routes
from bandstand.web.answers import answer_schemas
from bandstand.web.http import problems
from bandstand.web.http.request_input import BodyReader, FileReader
from bandstand.web.requests.authentication import check_policies, policy_of
from bandstand.web.requests.context import Context
from bandstand.web.requests.middleware import SecurityMiddleware
from bandstand.web.rest.memory import RestMemory
from bandstand.web.rest.router import router as rest_router
from bandstand.web.security import browser_sessions


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
    app.state.rest = RestMemory(context.radio)
    chosen = [*(find_routers() if routers is None else routers), rest_router]
    for router in chosen:
        check_policies(router.routes)
        app.include_router(router)
    problems.install(app)
    app.state.routes = [route for router in chosen for route in router.routes]
    _describe(app, app.state.routes)
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


# ── The description ──────────────────────────────────────────────────────────────────────

_MEANINGS: Final = {
    400: "The request is malformed, or for another host.",
    401: "Log in first; or the name, password or token is wrong.",
    403: "Not allowed: for administrators, beyond an app's scope, or from another site's page.",
    404: "There is no such thing, or it belongs to another account.",
    408: "The body came too slowly.",
    409: "It does not go with what is already there, or with a rule of the study.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "The body is not of the type that is documented.",
    422: "Something in the request is not as documented.",
    429: "Too many attempts; `Retry-After` says when to come back.",
    431: "The headers are too large.",
    500: "Something went wrong; the request id finds it in the log.",
    503: "The store or the server is busy or failed; nothing was stored.",
    507: "The store's disk is full; nothing was stored.",
}
_ALWAYS: Final = (400, 404, 414, 422, 431, 500, 503)
_WITH_BODY: Final = (408, 409, 413, 415, 429)
_CHANGING: Final = (403, 409, 507)
_WITHOUT_BODY: Final = (204, 304, 412, 416)
_BINARY: Final = ("audio/", "image/")
_BYTES: Final = {"type": "string", "format": "binary"}
_TEXT: Final = {"type": "string"}


def _describe(app: FastAPI, routes: list[BaseRoute]) -> None:
    """Install the description, made at the first request; `routes` are those of all routers."""

    @cache
    def describe() -> dict[str, Any]:
        with warnings.catch_warnings():
            # FastAPI gives GET and HEAD of one route the same id; `_complete` renames them.
            warnings.filterwarnings("ignore", "Duplicate Operation ID")
            return _described(app, routes)

    app.openapi = describe  # type: ignore[method-assign]


def _described(app: FastAPI, routes: list[BaseRoute]) -> dict[str, Any]:
    schema = get_openapi(
        title=app.title, version=app.version, summary=app.summary, routes=app.routes
    )
    components = schema.setdefault("components", {})
    answers, shapes = answer_schemas()
    components["schemas"] = {**_own_schemas(components), **shapes}
    name = browser_sessions.cookie_name(app.state.context.access)
    components["securitySchemes"] = {
        "session": {"type": "apiKey", "in": "cookie", "name": name},
        "app": {"type": "http", "scheme": "bearer", "description": "the password of an app"},
    }
    for route, method, operation in _operations(schema, routes):
        _complete(operation, route, method, components["schemas"])
        _describe_answers(operation, route, method, answers)
    return schema


def _own_schemas(components: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas without FastAPI's own shape of errors, which we do not use."""
    theirs = {"HTTPValidationError", "ValidationError"}
    return {
        name: schema for name, schema in components.get("schemas", {}).items() if name not in theirs
    }


def _operations(
    schema: dict[str, Any], routes: list[BaseRoute]
) -> Iterator[tuple[APIRoute, str, dict[str, Any]]]:
    for route in routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in sorted(route.methods or ()):
                operation = schema["paths"][route.path_format].get(method.lower())
                if operation is not None:
                    yield route, method, operation


def _complete(
    operation: dict[str, Any], route: APIRoute, method: str, schemas: dict[str, Any]
) -> None:
    policy, model = policy_of(route), _body_model(route)
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _in_words_of_json_schema(parameter["schema"])
    if len(route.methods or ()) > 1:  # FastAPI gives both the same
        operation["operationId"] = f"{route.operation_id or route.name}_{method.lower()}"
    codes = {*_ALWAYS}
    if policy != "public":
        operation["security"] = [{"session": []}]
        codes |= {401, 403}
    if policy in app_passwords.SCOPES:
        operation["security"] += [{"app": [policy]}]
        codes |= {429}
    if method not in {"GET", "HEAD"}:
        codes |= {*_CHANGING}
    if model is not None:
        operation["requestBody"] = _body(model, schemas)
        codes |= {*_WITH_BODY, 401}
    if any(isinstance(part.call, FileReader) for part in _parts(route)):
        content = {"application/octet-stream": {"schema": _BYTES}}
        operation["requestBody"] = {"required": True, "content": content}
        codes |= {*_WITH_BODY}
    operation["responses"].pop("422", None)
    for code in sorted(codes):
        operation["responses"].setdefault(str(code), {"description": _MEANINGS[code]})


def _in_words_of_json_schema(schema: Any) -> Any:
    """Return a schema with the limits of `Whole` under JSON Schema's names, not pydantic's."""
    if isinstance(schema, list):
        return [_in_words_of_json_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    names = {"ge": "minimum", "le": "maximum"}
    return {names.get(key, key): _in_words_of_json_schema(part) for key, part in schema.items()}


def _describe_answers(
    operation: dict[str, Any],
    route: APIRoute,
    method: str,
    answers: dict[tuple[str, int | None], Any],
) -> None:
    """Give every content of every answer its schema; FastAPI's own fits anything."""
    name = str(route.operation_id)
    for status, response in ((int(code), one) for code, one in operation["responses"].items()):
        if method == "HEAD" or status in _WITHOUT_BODY:
            response.pop("content", None)
            continue
        usual = answers.get(("" if status >= 400 else name, None))
        schema = answers.get((name, status), usual)
        content = response.setdefault("content", {})
        if schema is not None:
            content["application/json"] = {"schema": schema}
        for kind, media in content.items():
            if kind != "application/json" and "itemSchema" not in media:
                media["schema"] = _BYTES if kind.startswith(_BINARY) else _TEXT


def _parts(route: APIRoute) -> Any:
    return route.dependant.dependencies  # codespell:ignore dependant


def _body_model(route: APIRoute) -> Any:
    readers = [part.call for part in _parts(route) if isinstance(part.call, BodyReader)]
    return readers[0].model if readers else None


def _body(model: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(schema.pop("$defs", {}))
    schemas[schema["title"]] = schema
    reference = {"$ref": f"#/components/schemas/{schema['title']}"}
    return {"required": True, "content": {"application/json": {"schema": reference}}}
