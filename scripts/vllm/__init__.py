"""vLLM in an environment of its own, for GPU or for CPU.

`python -m scripts.vllm` makes it. Nothing of it comes into Tandem's environment: it brings
gigabytes and pins of its own. Where its wheels come from is pip's business, and TANDEM_VLLM_WHEELS
may name one more folder or page.
"""
