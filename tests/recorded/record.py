"""Record some calls anew, after their numbers were changed on purpose: `python tests/recorded/record.py "drift ode" ...`.

Say in the commit why they changed. Calls that are not named keep the numbers that they have.
"""

import sys
import warnings
from pathlib import Path

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recorded.calls import CALLS, results

RECORD = Path(__file__).with_name("recorded.npz")


def main(names: list[str]) -> None:
    jax.config.update("jax_enable_x64", True)
    unknown = sorted(set(names) - set(CALLS))
    if unknown or not names:
        sys.exit(f"no such calls: {', '.join(unknown)}" if unknown else __doc__)
    kept = {key: value for key, value in np.load(RECORD).items() if key.split("/")[0] not in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        new = {f"{name}/{field}": value for name in names for field, value in results(name).items()}
    order = {name: place for place, name in enumerate(["meta", *CALLS])}
    record = sorted({**kept, **new}.items(), key=lambda item: order[item[0].split("/")[0]])
    np.savez_compressed(RECORD, **dict(record))


if __name__ == "__main__":
    main(sys.argv[1:])
