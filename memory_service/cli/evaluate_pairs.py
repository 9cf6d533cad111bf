"""`eval-pairs`: how well the relation between two statements is judged, on labelled pairs or on scenarios."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_service.cli.common import Exit, Json, console, errors_shown, fail, print_json
from memory_service.cli.form import DatasetError
from memory_service.cli.relation_pairs import LABELS, Pair, read_pairs
from memory_service.domain.relations import StatementRelation, judge, read

if TYPE_CHECKING:
    from memory_service.ports.embedder import Embedder

MERGED = StatementRelation.PARAPHRASE.value
REPLACING = frozenset({"update", "opposite", MERGED})
EMBEDDER = "use"
"""The model whose cosines the judgement was fitted on."""

Judged = Sequence[tuple[Pair, str]]
"""Pairs, each with the relation judged."""


def eval_pairs(
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="JSON lines.")],
    words_only: Annotated[bool, typer.Option("--words-only", help="Judge without the embedding model.")] = False,
    part: Annotated[str, typer.Option(help="Only pairs of this part.", show_default=False)] = "",
    as_json: Json = False,
) -> None:
    """Judge how the later of two statements relates to the earlier one, and count what is right.

    FILE holds labelled pairs (id, language, a, b, label) or scenarios (as for `eval-evolution`), one a line.
    """
    with errors_shown(as_json=as_json):
        try:
            pairs = [pair for pair in read_pairs(file) if not part or pair.part == part]
        except DatasetError as error:
            raise fail(f"{file}: {error}", code=Exit.USAGE, as_json=as_json) from None
        if not pairs:
            raise fail("no pairs to judge", code=Exit.USAGE, as_json=as_json)
        embedder = None if words_only else _embedder()
        judged = asyncio.run(_judged(pairs, embedder))
        scenarios = any(pair.family for pair in pairs)
        found = scenario_figures(judged) if scenarios else pair_figures(judged)
        if as_json:
            print_json(found)
        elif scenarios:
            _show_scenarios(found)
        else:
            _show_pairs(found)


def _embedder() -> Embedder:
    from memory_service.adapters.embedders import build_embedder
    from memory_service.config import Settings

    # The cosines of another model lie elsewhere: the weights would read them wrongly.
    return build_embedder(EMBEDDER, cache_dir=Settings().data_dir / "models", openai=None, threads=1)


async def _judged(pairs: Sequence[Pair], embedder: Embedder | None) -> list[tuple[Pair, str]]:
    cosines: Mapping[tuple[str, str], float] = {}
    if embedder is not None:
        texts = sorted({text for pair in pairs for text in (pair.earlier, pair.later)})
        size = embedder.model.batch_size_max
        rows = [row for at in range(0, len(texts), size) for row in await embedder.embed(texts[at : at + size])]
        await embedder.close()
        vectors = dict(zip(texts, rows, strict=True))
        cosines = {(pair.earlier, pair.later): float(vectors[pair.earlier] @ vectors[pair.later]) for pair in pairs}
    found = []
    for pair in pairs:
        cosine = cosines.get((pair.earlier, pair.later))
        found.append((pair, judge(read(pair.earlier), read(pair.later), cosine=cosine).relation.value))
    return found


def pair_figures(judged: Judged) -> dict[str, Any]:
    """Figures of labelled pairs, together and by language; see `confusion_figures`."""
    languages = sorted({pair.language for pair, _ in judged})
    return {
        "pairs": len(judged),
        **confusion_figures(judged),
        "by_language": {
            language: confusion_figures([one for one in judged if one[0].language == language])
            for language in languages
        },
    }


def confusion_figures(judged: Judged) -> dict[str, Any]:
    """Counts by label and judgement, accuracy, precision and recall of each label, and of merges.

    A share of nothing is None. `merged_wrongly` are the ids of the pairs judged a paraphrase that are none, by
    their label.
    """
    counts = {label: dict.fromkeys(LABELS, 0) for label in LABELS}
    wrongly: dict[str, list[str]] = defaultdict(list)
    for pair, relation in judged:
        (label,) = pair.wanted
        counts[label][relation] += 1
        if relation == MERGED and label != MERGED:
            wrongly[label].append(pair.id)
    right = sum(counts[label][label] for label in LABELS)
    precision = {label: _share(counts[label][label], sum(row[label] for row in counts.values())) for label in LABELS}
    return {
        "confusion": counts,
        "accuracy": _share(right, len(judged)),
        "precision": precision,
        "recall": {label: _share(counts[label][label], sum(counts[label].values())) for label in LABELS},
        "merge_precision": precision[MERGED],
        "merged_wrongly": dict(wrongly),
    }


def scenario_figures(judged: Judged) -> dict[str, Any]:
    """Figures of scenarios: the pairs judged as their questions want, and the scenarios without a harmful pair.

    Small talk taken for a refinement of something does no harm: nothing is merged, replaced or disputed by it.
    """
    harmed: dict[str, bool] = {}
    wrong = []
    for pair, relation in judged:
        right = relation in pair.wanted
        harmed[pair.group] = harmed.get(pair.group, False) or not (
            right or (pair.small_talk and relation not in REPLACING)
        )
        if not right:
            wrong.append({"id": pair.id, "wanted": sorted(pair.wanted), "judged": relation})
    return {
        "pairs": len(judged),
        "pairs_right": _share(len(judged) - len(wrong), len(judged)),
        "scenarios": len(harmed),
        "scenarios_right": _share(list(harmed.values()).count(False), len(harmed)),
        "by_family": _by(judged, harmed, lambda pair: pair.family),
        "by_language": _by(judged, harmed, lambda pair: pair.language),
        "wrong": wrong,
    }


def _by(judged: Judged, harmed: Mapping[str, bool], key: Callable[[Pair], str]) -> dict[str, float | None]:
    groups: dict[str, set[str]] = defaultdict(set)
    for pair, _ in judged:
        groups[key(pair)].add(pair.group)
    return {name: _share(sum(not harmed[one] for one in found), len(found)) for name, found in sorted(groups.items())}


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _show_pairs(found: Mapping[str, Any]) -> None:
    from rich.table import Table

    out = console()
    for title, figures in (("all", found), *found["by_language"].items()):
        table = Table(title=f"{title}: accuracy {_percent(figures['accuracy'])}", title_justify="left")
        table.add_column("is \\ judged")
        for label in (*LABELS, "recall"):
            table.add_column(label, justify="right")
        for label in LABELS:
            counts = (str(figures["confusion"][label][judged]) for judged in LABELS)
            table.add_row(label, *counts, _percent(figures["recall"][label]))
        table.add_row("precision", *(_percent(figures["precision"][label]) for label in LABELS), "")
        out.print(table)
    out.print(f"{found['pairs']} pairs; of those judged a paraphrase {_percent(found['merge_precision'])} are one")
    for label, ids in found["merged_wrongly"].items():
        out.print(f"[red]{label} judged a paraphrase:[/] {', '.join(ids)}")


def _show_scenarios(found: Mapping[str, Any]) -> None:
    from rich.table import Table

    out = console()
    table = Table(title=f"{found['scenarios']} scenarios, {found['pairs']} pairs", title_justify="left")
    table.add_column("of")
    table.add_column("without a harmful judgement", justify="right")
    rows: Iterable[tuple[str, float | None]] = (*found["by_family"].items(), *found["by_language"].items())
    for name, share in rows:
        table.add_row(name, _percent(share))
    table.add_row("all", _percent(found["scenarios_right"]))
    out.print(table)
    for one in found["wrong"]:
        out.print(f"{one['id']}: {one['judged']}, wanted {' or '.join(one['wanted'])}")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
