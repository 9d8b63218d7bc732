"""The format of a store, both sides: index, reader, writer, packing, promises."""
