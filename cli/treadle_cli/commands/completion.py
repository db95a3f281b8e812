"""``treadle completion``: the script that teaches a shell the commands, options and choices of ``treadle``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from treadle_cli.clicks import Command


@click.command(
    cls=Command,
    examples=(
        'eval "$(treadle completion bash)"                                   # in ~/.bashrc',
        'eval "$(treadle completion zsh)"                                    # in ~/.zshrc',
        "treadle completion fish > ~/.config/fish/completions/treadle.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL."""
    maker = get_completion_class(shell)
    if maker is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(maker(ctx.find_root().command, {}, "treadle", "_TREADLE_COMPLETE").source())
