"""Supply chain: locked packages, vulnerabilities, licences, images, bill of materials.

`python -m scripts.supply lock | audit | licences | sbom | images`. Only `lock`, `audit --ask`,
`audit --renew` and `images` use the network.
"""
