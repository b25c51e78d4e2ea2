"""The paper's figures, for one policy or for several in the same axes."""
