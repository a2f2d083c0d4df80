"""PDLT figure 2.2: the activations of chapter 2."""

from save import panels, save

from finitewidth.figures import activation_gallery

activation_gallery(axes=panels(3, 3, 8.4, 7.2).ravel())
save("pdlt_figure_2_2")
