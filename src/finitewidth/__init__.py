"""finitewidth: the theory of neural networks of finite width and depth, as something one runs."""
