"""Whether the server is well: for whoever watches over it, without details."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from bandstand.web.requests.context import ContextDep
from bandstand.web.requests.guards import PUBLIC

router = APIRouter()


@router.api_route("/health", methods=["GET", "HEAD"], dependencies=[PUBLIC], operation_id="health")
async def health(context: ContextDep) -> Response:
    """Tell whether songs can be played and ratings be kept."""
    failure = context.radio.failure
    if failure is not None:
        return JSONResponse({"status": "failed", "writable": False}, 503)
    return JSONResponse({"status": "ok", "writable": True})
