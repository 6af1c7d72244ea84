"""The storm as a Gymnasium environment: single, as a native batch, and as a vector for Stable-Baselines3."""
