"""The latent Gaussian model: parameters, states, and what one chain computes with."""
