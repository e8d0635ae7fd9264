"""What can be said about the Dockerfile and compose.yaml where no container engine is."""
