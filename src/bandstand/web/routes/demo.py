"""What only the listener of a demo can do: start afresh."""

from fastapi import APIRouter
from fastapi.responses import Response

from bandstand.radio import demo_history as made_up_history
from bandstand.web.http.problems import Problem
from bandstand.web.requests.context import ContextDep
from bandstand.web.requests.guards import LISTENER, Me

router = APIRouter(tags=["demo"])


@router.delete(
    "/api/demo/history", dependencies=[LISTENER], operation_id="start_afresh", status_code=204
)
async def start_afresh(context: ContextDep, me: Me) -> Response:
    """Erase everything that is known of the demo's listener, for good; a new one has the name."""
    if me.name != context.guest:
        raise Problem(403, "forbidden", "only the listener of a demo can start afresh")
    now = context.clock()
    await context.write(lambda store: made_up_history.start_afresh(store, me.id, now=now))
    context.sessions.forget(me.id)
    context.radio.drop(me.id)
    context.study.drop(me.id)
    return Response(status_code=204)
