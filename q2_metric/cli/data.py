"""``q2 data`` lists and downloads evaluation sets."""

import click

from q2_metric.cli.commands import Group


@click.group("data", cls=Group)
def data() -> None:
    """List and download evaluation sets."""


@data.command("list")
def data_list() -> None:
    """List the data sets and say which are on this machine."""
    from q2_metric.cli.render import print_data_sets
    from q2_metric.data.catalogue import CATALOGUE, state

    print_data_sets([(dataset, state(dataset)) for dataset in CATALOGUE.values()])


@data.command("download")
@click.argument("name")
def data_download(name: str) -> None:
    """Download the data set NAME ("true": all sets of TRUE) and print the paths of its files."""
    from q2_metric.data.catalogue import download

    for path in download(name):
        click.echo(path)
