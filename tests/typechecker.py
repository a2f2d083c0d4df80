"""The checker of annotations: beartype, with integers where real numbers are asked for, as everywhere in Python's types."""

from beartype import BeartypeConf, beartype

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))
