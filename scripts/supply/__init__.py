"""What Tandem is made of: locked requirements, known holes, licences, images, a bill of materials.

`python -m scripts.supply lock | audit | licences | sbom | images`; the Makefile has a target for
each. Only `lock`, `audit --ask` and `images` use the network.
"""
