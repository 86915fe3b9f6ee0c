"""`paceline vectors`: writes the connections that a flow of a scenario plays as a file of connection vectors."""

from __future__ import annotations

from paceline.cli.options import VectorsOptions
from paceline.cli.speak import printing, say
from paceline.errors import UsageError
from paceline.outputs import replace_file
from paceline.scenario import LoadedScenario


def write(options: VectorsOptions) -> None:
    """Prints or writes the connections, and says how many they are and what their sides send."""
    loaded = options.read().load()
    flow = _flow(loaded, options.flow)
    found = loaded.core.connection_vectors(flow)
    assert found is not None, flow
    text, connections, initiators, acceptors = found
    for warning in loaded.core.warnings:
        say(f"warning: {warning}")
    if options.out is None:
        with printing():
            print(text, end="")
    else:
        replace_file(options.out, text)
    sent = f"initiators send {initiators / 1e6:.3f} MB, acceptors {acceptors / 1e6:.3f} MB"
    say(f"flow {flow}: {connections} connections; {sent}" + (f"; written to {options.out}" if options.out else ""))


def _flow(loaded: LoadedScenario, name: str | None) -> str:
    """The flow that was asked for, or the only one that there is."""
    names = loaded.core.vector_flows
    if not names:
        raise UsageError("vectors: found no flow whose source is tmix, expected one")
    found = names[0] if name is None and len(names) == 1 else name
    if found not in names:
        what = "several flows with connections" if found is None else f'"{found}"'
        raise UsageError(f"--flow: found {what}, expected one of {', '.join(names)}")
    return found
