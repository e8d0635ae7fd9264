"""Check the Dockerfile and compose.yaml without a container engine."""
