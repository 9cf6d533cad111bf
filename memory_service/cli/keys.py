"""Commands on API keys."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from memory_service.cli.common import Session, with_client_options


@with_client_options
def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="A name for people.")],
    roles: Annotated[list[str] | None, typer.Option("--role", help="reader, writer or admin (repeatable).")] = None,
    users: Annotated[
        list[str] | None, typer.Option("--for-user", help="Only for this user (repeatable); any when left out.")
    ] = None,
    expires_in_days: Annotated[float | None, typer.Option(min=0.0, help="When it ceases to work.")] = None,
) -> None:
    """Make a key. Its secret is shown this once."""
    from memory_service.client import Role

    # The command line runs on the caller's machine; the server judges the time by its own clock.
    expires = None if expires_in_days is None else datetime.now(UTC) + timedelta(days=expires_in_days)
    with session.client() as client:
        made = client.create_key(name, roles=roles or [Role.WRITER], users=users or (), expires_at=expires)

    session.show(
        made, lambda out: out.print(f"{made.secret}\n[dim]id {made.key.id}; keep it, it is not shown again[/]")
    )


@with_client_options
def list_keys(session: Session) -> None:
    """List the tenant's keys, revoked ones included."""
    from memory_service.cli import render

    with session.client() as client:
        keys = client.list_keys()
    made = render.table("id", "name", "secret", "roles", "users", "made", "state", fold=["users"])
    for key in keys:
        state = f"revoked {render.when(key.revoked_at)}" if key.revoked_at else "valid"
        if key.expires_at and not key.revoked_at:
            state = f"until {render.when(key.expires_at)}"
        roles = ", ".join(role.value for role in key.roles)
        users = ", ".join(key.users) or "any"
        made.add_row(key.id, key.name, f"{key.prefix}…", roles, users, render.when(key.created_at), state)
    session.show({"keys": keys}, lambda out: out.print(made))


@with_client_options
def revoke(session: Session, key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key.")]) -> None:
    """Revoke a key; requests with it fail from then on."""
    with session.client() as client:
        client.revoke_key(key_id)
    session.show({"revoked": key_id}, lambda out: out.print(f"revoked {key_id}"))
