"""Real networks of shaped blocks: drawn exactly through covariances alone, or with all their matrices."""

from .ablations import AblatedAttention as AblatedAttention, FiniteBlock as FiniteBlock, FiniteStack as FiniteStack
from .layer_norm import LayerNormTransformer as LayerNormTransformer
from .simulation import simulate_block as simulate_block
