"""The command line: which commands there are."""

from __future__ import annotations

import typer

from memory_service.cli import (
    demo,
    devices,
    doctor,
    evaluate,
    evaluate_evolution,
    evaluate_pairs,
    jobs,
    keys,
    load,
    memories,
    offline,
    policies,
    reviews,
    service,
    sessions,
    simulate,
)

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
vocabulary_commands = typer.Typer(help="The predicates of your tenant.", no_args_is_help=True)
parameter_commands = typer.Typer(help="The tunable numbers of your tenant.", no_args_is_help=True)

app.command("serve")(service.serve)
app.command("worker")(service.worker)
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
app.command("feedback")(memories.feedback)
app.command("watch")(devices.watch)
app.command("conflicts")(devices.conflicts)
app.command("resolve")(devices.resolve)
app.command("revoke")(devices.revoke)
app.command("reviews")(reviews.reviews)
app.command("accept")(reviews.accept)
app.command("reject")(reviews.reject)
app.command("experiments")(policies.experiments)
app.command("calibrate")(policies.calibrate)
app.command("sync")(offline.sync)
app.add_typer(offline.app, name="offline")
app.add_typer(sessions.app, name="session")
app.command("load")(load.load)
app.command("eval")(evaluate.evaluate_command)
app.command("eval-evolution")(evaluate_evolution.eval_evolution)
app.command("eval-pairs")(evaluate_pairs.eval_pairs)
app.command("simulate")(simulate.simulate_command)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)
app.command("version")(service.version)
app.add_typer(key_commands, name="keys")
key_commands.command("create")(keys.create)
key_commands.command("list")(keys.list_keys)
key_commands.command("revoke")(keys.revoke)
app.add_typer(vocabulary_commands, name="vocabulary")
vocabulary_commands.command("list")(policies.vocabulary_list)
vocabulary_commands.command("put")(policies.vocabulary_put)
vocabulary_commands.command("remove")(policies.vocabulary_remove)
vocabulary_commands.command("unknown")(policies.vocabulary_unknown)
vocabulary_commands.command("history")(policies.vocabulary_history)
vocabulary_commands.command("rollback")(policies.vocabulary_rollback)
app.add_typer(parameter_commands, name="parameters")
parameter_commands.command("list")(policies.parameters_list)
parameter_commands.command("set")(policies.parameters_set)
parameter_commands.command("history")(policies.parameters_history)
parameter_commands.command("rollback")(policies.parameters_rollback)
app.add_typer(jobs.app, name="jobs")
