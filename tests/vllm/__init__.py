"""The vllm backend over vLLM itself and a tiny model of random weights: `make vllm`."""
