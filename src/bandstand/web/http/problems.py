"""The shape of every error, and its making from exceptions.

    {"error": {"code": "not_found", "message": "there is no such song", "request_id": "…"}}

`code` is for programs and never changes its meaning; `message` is for people and never repeats
what the request held; `request_id` finds the request in the server's log. What a rule of a study
does not allow yet also says `until` when.
"""

import logging
import math
import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bandstand.errors import (
    BandstandError,
    ConflictError,
    InvalidInputError,
    KeyReusedError,
    LastAdminError,
    NameTakenError,
    NotFoundError,
    RefusedError,
    StoreError,
    StoreFailedError,
    StoreFullError,
    StoreLockedError,
    StudyUnreadableError,
    WeakPasswordError,
)

LOG: Final = logging.getLogger("bandstand.web")
RETRY_AFTER: Final = 2  # seconds, when the store is busy
_LONGEST_MESSAGE: Final = 300

# From the particular to the general: the first that fits is taken.
_KINDS: Final[tuple[tuple[type[Exception], int, str], ...]] = (
    (NotFoundError, 404, "not_found"),
    (NameTakenError, 409, "name_taken"),
    (LastAdminError, 409, "last_admin"),
    (ConflictError, 409, "conflict"),
    (KeyReusedError, 422, "key_reused"),
    (WeakPasswordError, 422, "weak_password"),
    (InvalidInputError, 422, "invalid"),
    (StoreFullError, 507, "store_full"),
    (StoreLockedError, 503, "store_busy"),
    (StoreFailedError, 503, "store_failed"),
    (StudyUnreadableError, 503, "study_unreadable"),
    (StoreError, 503, "store_unavailable"),
)
# A name is not repeated, and details of the store are for the operator: they are in the log.
_MESSAGES: Final = {
    "name_taken": "another account has this name",
    "last_admin": "there must be another administrator who can log in",
    "store_full": "the store's disk is full; nothing was stored",
    "store_busy": "the store is busy; nothing was stored; try again",
    "store_failed": "the store's disk has failed; nothing is stored until the server is restarted",
    "store_unavailable": "the store cannot be reached; nothing was stored",
    "study_unreadable": "the study cannot be read; the server's operator has to repair it",
}
_HTTP_CODES: Final = {
    400: "bad_request",
    401: "login_required",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
}


class Problem(Exception):  # noqa: N818  # a refusal is no defect of the program
    """A refusal with its status, code and message; raise it from anywhere in a request.

    `until` is when the refusal ends, in UTC milliseconds, where that is known.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        *,
        until: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status: Final = status
        self.code: Final = code
        self.message: Final = message
        self.headers: Final = dict(headers or {})
        self.until: Final = until

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message}"


def login_required() -> Problem:
    """Return the refusal of a request without a session."""
    return Problem(401, "login_required", "log in first")


def another_account() -> Problem:
    """Return the refusal of a page that does not know yet that the account has changed."""
    return Problem(409, "another_account", "another account is logged in here now")


def not_found(what: str = "page") -> Problem:
    """Return the refusal for things that do not exist, or belong to another account."""
    return Problem(404, "not_found", f"there is no such {what}")


def too_many(seconds: float, message: str = "too many attempts; wait a while") -> Problem:
    """Return a refusal that says when to try again."""
    return Problem(429, "too_many", message, {"Retry-After": str(max(1, round(seconds + 0.5)))})


def busy(message: str = "the server is busy; try again") -> Problem:
    """Return a refusal by a full queue."""
    return Problem(503, "busy", message, {"Retry-After": str(RETRY_AFTER)})


def answer(problem: Problem, request_id: str) -> JSONResponse:
    """Return a problem as a response."""
    body: dict[str, str | int] = {
        "code": problem.code,
        "message": problem.message,
        "request_id": request_id,
    }
    if problem.until is not None:
        body["until"] = problem.until
    return JSONResponse({"error": body}, problem.status, headers=problem.headers)


def problem_of(error: Exception) -> Problem:
    """Turn an exception into the problem that its client sees.

    >>> problem_of(InvalidInputError("stars must be between 1 and 5, got 9")).message
    'stars must be between 1 and 5'
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return _of_http(error)
    if isinstance(error, RequestValidationError):
        return invalid_fields(error.errors())
    if isinstance(error, RefusedError):
        return _of_rule(error)
    for kind, status, code in _KINDS:
        if isinstance(error, kind):
            headers = {"Retry-After": str(RETRY_AFTER)} if code == "store_busy" else {}
            return Problem(status, code, _MESSAGES.get(code) or _expected(error), headers)
    return Problem(500, "internal", "something went wrong; the log of the server knows more")


def note(error: Exception, problem: Problem, request_id: str) -> None:
    """Log an error of the server itself.

    Of an unexpected one only its type and its stack: its message may quote a password or a token.
    """
    if isinstance(error, StoreError):
        LOG.error("%s %s: %s", request_id, problem.code, " ".join(str(error).split()))
    elif problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        frames = traceback.extract_tb(error.__traceback__)
        lines = "".join(f"\n  {at.filename}:{at.lineno} {at.name}" for at in frames)
        LOG.error("%s %s%s", request_id, type(error).__qualname__, lines)


def install(app: FastAPI) -> None:
    """Install the handlers of all errors in an app."""
    for kind in (Problem, HTTPException, RequestValidationError, BandstandError):
        app.add_exception_handler(kind, _handle)


async def _handle(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if problem.status == HTTPStatus.METHOD_NOT_ALLOWED:
        problem.headers["Allow"] = _methods(request)
    if problem.until is not None:
        wait = problem.until - request.app.state.context.clock()
        problem.headers["Retry-After"] = str(max(1, math.ceil(wait / 1_000)))
    request_id: str = request.scope["state"]["request_id"]
    note(error, problem, request_id)
    return answer(problem, request_id)


def _methods(request: Request) -> str:
    """Return the methods of a path; Starlette names only those of its first route."""
    routes: list[APIRoute] = request.app.state.routes
    fitting = [route for route in routes if route.path_regex.match(request.scope["path"])]
    return ", ".join(sorted({method for route in fitting for method in route.methods or ()}))


def _of_http(error: HTTPException) -> Problem:
    status = error.status_code
    message = "there is no such page" if status == 404 else HTTPStatus(status).phrase.lower()
    return Problem(status, _HTTP_CODES.get(status, "refused"), message, error.headers or {})


def _of_rule(error: RefusedError) -> Problem:
    """Return the refusal by a rule of the study, with its whole sentence."""
    if error.code == "not_yours":  # the answer must not reveal whether there is such a part
        return not_found(what="part of a study")
    return Problem(409, error.code, error.message[:_LONGEST_MESSAGE], until=error.until)


def invalid_fields(errors: Sequence[Any]) -> Problem:
    """Return the first finding of pydantic, without the value it found it in."""
    first = errors[0]
    if first["type"] == "extra_forbidden":  # its place is a word of the client's
        return Problem(422, "invalid", "there must be no fields but the documented ones")
    if first["type"].startswith("union_tag"):  # it quotes the tag that came
        return Problem(422, "invalid", "kind must be one of the documented ones")
    where = [str(part) for part in first["loc"] if part not in {"body", "query", "path", "header"}]
    # pydantic's own sentences say what was expected; only a validator's may quote what came.
    expected = first["msg"].removeprefix("Value error, ").partition(", got ")[0]
    message = f"{'.'.join(where)}: {expected}" if where else expected
    return Problem(422, "invalid", message[:_LONGEST_MESSAGE])


def _expected(error: Exception) -> str:
    """Return the part of our own messages before ", got"."""
    return str(error).partition(", got ")[0][:_LONGEST_MESSAGE]
