"""What Tandem is made of: locked requirements, known holes, licences, images, a bill of materials.

`python -m scripts.supply lock | audit | licences | sbom | images`. Only `lock`, `audit --ask`,
`audit --renew` and `images` use the network.
"""
