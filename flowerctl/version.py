"""Which flower this is."""


def installed_version() -> str:
    """The version of the installed distribution; ``0`` in a checkout that isn't installed."""
    # Loaded when it is needed: it costs as much as all the rest of a single request.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("flower-agent")
    except PackageNotFoundError:
        return "0"
