"""The latent function at new inputs, given draws of hyperparameters and latent values."""
