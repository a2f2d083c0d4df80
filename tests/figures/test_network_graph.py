"""PDLT figure 2.1: as many circles and lines as there are neurons and weights."""

import finitewidth as fw


def test_small_networks_are_drawn_whole():
    """PDLT (2.5)."""
    axes = fw.figures.network_graph(fw.MLP("tanh", (3, 4, 2)))
    assert [len(each.get_offsets()) for each in axes.collections] == [3, 4, 2]
    assert len(axes.get_lines()) == 3 * 4 + 4 * 2
    assert [text.get_text() for text in axes.texts] == ["3", "4", "2"]


def test_large_networks_are_drawn_in_part():
    """Widths are written, dotted lines stand for layers that are left out, and arcs for skip connections."""
    axes = fw.figures.network_graph(fw.ResidualMLP("relu", width=300, depth=20, gamma=0.5, outputs=1))
    assert len(axes.collections) == 8
    assert [text.get_text() for text in axes.texts] == ["300"] * 7 + ["1"]
    assert sum(line.get_linestyle() == ":" for line in axes.get_lines()) == 64
    arcs = [line for line in axes.get_lines() if line.get_color() == "#0072B2"]
    assert len(arcs) == 5  # neither into the first layer nor into the readout
