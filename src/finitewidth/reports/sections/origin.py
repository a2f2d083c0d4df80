"""What made a report: versions, seed, settings."""

from ...results import Flow
from ..plain import meta, plain
from ..section import Section, Tone, Words


def about_origin(measured: Flow, inputs: str) -> Section:
    """The foot of a report; `inputs` is their description."""
    ensemble = measured.known_ensemble()
    data = plain(meta(seed=ensemble.seed, networks=ensemble.networks, method=ensemble.method, inputs=inputs))
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    text = f"Inputs: {inputs}. Method {ensemble.method}, seed {ensemble.seed}. {versions}."
    return Section("meta", "How this was made", data, (Words(text, Tone.SOFT),))
