"""`python -m memory_service` and the `memory-service` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from memory_service.cli.app import app

    app()


if __name__ == "__main__":
    main()
