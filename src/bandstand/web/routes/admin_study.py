"""How far a study is: for administrators, who may take part in it themselves."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import ADMIN, Me
from bandstand.web.routes._study_json import progress_json

router = APIRouter(tags=["admin"])


@router.get("/api/admin/study", dependencies=[ADMIN], operation_id="study_progress")
async def progress(context: ContextDep, me: Me) -> Response:
    """Tell how far everybody is in the study that is open; null where none is."""
    return JSONResponse({"study": await context.workers.run(_progress, context, me.id)})


def _progress(context: Context, account: str) -> dict[str, Any] | None:
    status = context.study.status(account)
    if status is None:
        return None
    return {
        "title": status.title,
        "parts": status.facts.parts,
        "ratings_per_arm": status.facts.ratings_per_arm,
        "participants": [progress_json(one) for one in context.study.progress()],
    }
