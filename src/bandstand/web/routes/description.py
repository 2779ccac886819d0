"""The API described for programs."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from bandstand.web.requests.guards import PUBLIC

router = APIRouter()


@router.api_route(
    "/openapi.json", methods=["GET", "HEAD"], dependencies=[PUBLIC], operation_id="description"
)
async def description(request: Request) -> Response:
    """Describe every route (OpenAPI 3.1)."""
    return JSONResponse(request.app.openapi())
