"""What is installed here: NVRTC, nvJitLink, ptxas and the toolkit's headers.

Who needs a key asks the cheapest that knows: ``key_parts`` on a hit in the cache, else ``remembered``, which asks
``installed`` where nothing is remembered. That looks at ``wheels``, ``parts`` and, for what no version stands for,
``toolkit_headers``; ``libraries`` loads what it names, ``assembler`` finds ptxas, and ``device_runtime`` cudadevrt.
``packages`` is what to install.
"""
