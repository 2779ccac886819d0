"""A route that takes a name for a path: the classic mistake, so that tests can show they see it."""

# No postponed annotations: FastAPI reads them when the program runs.
from fastapi import APIRouter
from fastapi.responses import Response

from bandstand.web.guards import PUBLIC

router = APIRouter()


@router.get("/static/{name:path}", dependencies=[PUBLIC], operation_id="naive")
async def static(name: str) -> Response:
    """Send whatever the name leads to."""
    try:
        with open(f"/usr/share/{name}", "rb") as file:  # noqa: ASYNC230, PTH123
            return Response(file.read())
    except (OSError, ValueError):
        return Response(status_code=404)
