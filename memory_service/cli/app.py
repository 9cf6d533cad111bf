"""The command line: which commands there are."""

from __future__ import annotations

import typer

from memory_service.cli import demo, devices, doctor, evaluate, keys, load, memories, offline, service

app = typer.Typer(
    name="memory-service",
    help="The memory that AI agents run on. Commands talk to the service named by --target (127.0.0.1:50051).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
key_commands = typer.Typer(help="API keys of your tenant.", no_args_is_help=True)

app.command("serve")(service.serve)
app.command("migrate")(service.migrate)
app.command("write")(memories.write)
app.command("recall")(memories.recall)
app.command("correct")(memories.correct)
app.command("forget")(memories.forget)
app.command("list")(memories.list_memories)
app.command("show")(memories.show)
app.command("history")(memories.history)
app.command("rollback")(memories.rollback)
app.command("unmerge")(memories.unmerge)
app.command("watch")(devices.watch)
app.command("conflicts")(devices.conflicts)
app.command("resolve")(devices.resolve)
app.command("revoke")(devices.revoke)
app.command("sync")(offline.sync)
app.add_typer(offline.app, name="offline")
app.command("load")(load.load)
app.command("eval")(evaluate.evaluate_command)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)
app.command("version")(service.version)
app.add_typer(key_commands, name="keys")
key_commands.command("create")(keys.create)
key_commands.command("list")(keys.list_keys)
key_commands.command("revoke")(keys.revoke)
