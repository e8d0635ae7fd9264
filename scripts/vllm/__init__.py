"""vLLM in its own environment, for GPU or for CPU.

`python -m scripts.vllm` creates it. It is separate from Tandem's environment, since vLLM brings
gigabytes and its own pins. pip finds the wheels, and TANDEM_VLLM_WHEELS may name one more folder or
page.
"""
