"""One route for all of `/rest`: who asks, what for, and the answer in the form that is wanted.

Only the app password in the request counts, never a cookie, so pages of any site may ask: they
know no more than what they send. Each endpoint declares its scope (`calls`).
"""

# No postponed annotations: FastAPI reads them when the program runs.
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bandstand.web.http.problems import note, problem_of
from bandstand.web.requests.authentication import REST
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.rest import answers, browsing, listening, lists, media, saved, system
from bandstand.web.rest.answers import FAILED, Refusal, failure, refusal_of, success, written
from bandstand.web.rest.calls import ENDPOINTS, Call, Params, app_of, params_of

router = APIRouter()

MODULES: Final = (browsing, lists, listening, media, saved, system)  # they declare the endpoints
_PUBLIC: Final = "getOpenSubsonicExtensions"


@router.api_route(
    "/rest/{name:path}",
    methods=["GET", "HEAD", "POST", "OPTIONS"],
    dependencies=[REST],
    operation_id="rest",
    include_in_schema=False,  # OpenSubsonic describes it
)
async def rest(request: Request, context: ContextDep, name: str) -> Response:
    """Answer a call of the OpenSubsonic protocol."""
    if request.method == "OPTIONS":
        return Response(status_code=204)
    params = Params([])
    try:
        params = await params_of(request)
        found = await _answer(request, context, name.removesuffix(".view"), params)
    except Exception as error:  # noqa: BLE001  # every error has the shape of the protocol
        found = failure(_refusal(request, error))
    if isinstance(found, Response):
        return found
    total = getattr(request.state, "total", None)
    headers = {} if total is None else {"X-Total-Count": str(total)}
    return written(found, params.text("f") or "xml", {"Cache-Control": "no-store", **headers})


async def _answer(
    request: Request, context: Context, name: str, params: Params
) -> answers.Tree | Response:
    if name == _PUBLIC:
        return success(system.extensions())
    app = await app_of(context, request.state.address, params)
    if name not in ENDPOINTS:
        raise Refusal(FAILED, "Bandstand does not have this")
    memory = request.app.state.rest
    call = Call(request=request, context=context, memory=memory, params=params, app=app)
    found = await ENDPOINTS[name].run(call)
    return found if isinstance(found, Response) else success(found)


def _refusal(request: Request, error: Exception) -> Refusal:
    if isinstance(error, Refusal):
        return error
    problem = problem_of(error)
    note(error, problem, request.scope["state"]["request_id"])
    return refusal_of(problem)
