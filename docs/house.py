"""The rooms of the library: the one list that the site's navigation, its pages and the tests read."""

FLOORS: tuple[dict[str, str], ...] = (
    {"gaussian": "averages under Gaussian and nearly Gaussian laws"},
    {"activations": "functions, derivatives, closed forms"},
    {"networks": "immutable descriptions"},
    {"kernels": "infinite width", "results": "what theory and measurement both return"},
    {"realised": "one network", "runs": "the loop behind every long run"},
    {
        "exact": "networks solved at every width",
        "expansion": "order by order in 1/n",
        "proportional": "depth in proportion to width",
        "ensembles": "networks drawn",
    },
    {"critical": "fixed points, susceptibilities, universality classes"},
    {"entropies": "what neurons and samples tell of one another", "learning": "what training does"},
    {"advice": "what to do: tune, learning rates, diagnoses"},
    {"figures": "every plot, one function each"},
    {"reports": "comparisons, and pages made of sections"},
    {"cli": "the command line"},
)
"""From the ground up, with what each is for. Imports go down only; rooms on one floor do not import each other."""

ROOMS = tuple(room for floor in FLOORS for room in floor)

PAGES = {room: room for room in ROOMS} | {"cli": "reports"}
"""The page that explains a room: its own, but for the command line, which is explained with the reports."""


def diagram() -> str:
    """The floors as text, the highest first."""
    names = ["  ".join(floor) for floor in FLOORS]
    width = max(map(len, names)) + 2
    lines = [f"{name:<{width}}{'; '.join(floor.values())}" for name, floor in zip(names, FLOORS, strict=True)]
    return "```text\n" + "\n".join(reversed(lines)) + "\n```"


def navigation(folder: str) -> list[str]:
    """The pages of all rooms in a folder of the site, from the ground up."""
    pages = dict.fromkeys(PAGES.values()) if folder == "rooms" else dict.fromkeys(PAGES)
    return [f"{folder}/{page}.md" for page in pages]
