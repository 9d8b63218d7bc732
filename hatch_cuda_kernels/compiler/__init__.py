"""One ``CompileJob`` in, one ``Compiled`` out; nothing here knows manifests, wheels, stores or devices."""
