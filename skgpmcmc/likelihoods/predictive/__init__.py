"""Distributions of new data, where the latent values are normal given each draw."""
