"""What the radio has learnt about a listener."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from bandstand.radio.explain.taste import as_json
from bandstand.web.requests.context import ContextDep
from bandstand.web.requests.guards import LISTENER, Me

router = APIRouter(tags=["listening"])


@router.get("/api/taste", dependencies=[LISTENER], operation_id="taste")
async def taste(context: ContextDep, me: Me) -> Response:
    """Tell what has been learnt from the ratings so far."""
    learnt = await context.ask(context.turns, me.id, context.radio.taste, me.id)
    return JSONResponse(as_json(learnt))
