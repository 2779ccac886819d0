"""Who may listen: for administrators."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import Field, model_validator
from sqlalchemy import Connection

from bandstand.store import accounts
from bandstand.store.accounts import Account
from bandstand.web.http.problems import not_found
from bandstand.web.http.strict_json import Body, JsonBody
from bandstand.web.requests.context import Context, ContextDep
from bandstand.web.requests.guards import ADMIN
from bandstand.web.security.passwords import checked_password

router = APIRouter(tags=["admin"])

Name = Annotated[str, Field(min_length=1, max_length=64)]
Password = Annotated[str, Field(min_length=1, max_length=1_024)]
Role = Literal["listener", "admin"]


class NewUser(Body):
    """Somebody who may listen from now on."""

    name: Name
    password: Password
    role: Role = "listener"


class UserChange(Body):
    """What is to be different; the rest stays."""

    name: Name | None = None
    password: Password | None = None
    role: Role | None = None
    disabled: bool | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "UserChange":
        if all(value is None for value in (self.name, self.password, self.role, self.disabled)):
            msg = "at least one of name, password, role and disabled must be given"
            raise ValueError(msg)
        return self


@router.get("/api/admin/users", dependencies=[ADMIN], operation_id="users")
async def users(context: ContextDep) -> Response:
    """List the accounts."""
    found = await context.workers.run(_all, context)
    return JSONResponse({"users": [user_json(one) for one in found]})


@router.post("/api/admin/users", dependencies=[ADMIN], operation_id="add_user", status_code=201)
async def add_user(context: ContextDep, body: Annotated[NewUser, JsonBody(NewUser)]) -> Response:
    """Make an account."""
    name = accounts.checked_name(body.name)
    kept = await context.desk.hashed(checked_password(body.password, name=name))
    account = await context.write(
        lambda store: accounts.create(
            store, name=name, role=body.role, password_hash=kept, now=context.clock()
        )
    )
    return JSONResponse(user_json(account), 201)


@router.patch("/api/admin/users/{user_id}", dependencies=[ADMIN], operation_id="change_user")
async def change_user(
    context: ContextDep, user_id: str, body: Annotated[UserChange, JsonBody(UserChange)]
) -> Response:
    """Change an account: all of what is asked, or nothing."""
    account = await context.workers.run(_get, context, user_id)
    kept = None
    if body.password is not None:
        name = account.name if body.name is None else body.name
        kept = await context.desk.hashed(checked_password(body.password, name=name))
    changed = await context.write(lambda store: _change(store, user_id, body, kept))
    context.sessions.forget(user_id)
    return JSONResponse(user_json(changed))


@router.delete(
    "/api/admin/users/{user_id}", dependencies=[ADMIN], operation_id="remove_user", status_code=204
)
async def remove_user(context: ContextDep, user_id: str) -> Response:
    """Remove an account with everything that is known of it."""
    await context.write(lambda store: accounts.delete(store, user_id))
    context.sessions.forget(user_id)
    context.radio.drop(user_id)
    context.study.drop(user_id)
    return Response(status_code=204)


def user_json(account: Account) -> dict[str, Any]:
    """Return what an administrator may know of an account."""
    return {
        "id": account.id,
        "name": account.name,
        "role": account.role,
        "disabled": account.disabled,
        "has_password": account.has_password,
        "created_at": account.created_at,
    }


def _all(context: Context) -> list[Account]:
    with context.store.reading() as connection:
        return accounts.all_accounts(connection)


def _get(context: Context, user_id: str) -> Account:
    with context.store.reading() as connection:
        account = accounts.get(connection, user_id)
    if account is None:
        raise not_found(what="account")
    return account


def _change(connection: Connection, user_id: str, change: UserChange, kept: str | None) -> Account:
    if change.name is not None:
        accounts.rename(connection, user_id, change.name)
    if kept is not None:
        accounts.set_password(connection, user_id, kept)
    if change.role is not None:
        accounts.set_role(connection, user_id, change.role)
    if change.disabled is not None:
        accounts.set_disabled(connection, user_id, disabled=change.disabled)
    return accounts.existing(connection, user_id)
