"""The report: what a wheel holds and costs, as one HTML file without a script of others, a font or a link to load.

Facts (``package``) -> figures of every kernel and architecture (``figures``) -> differences to an older wheel
(``compare``) -> what the charts show (``heat``, ``tree``) -> SVG by Vega (``charts``) -> the page (``page``).
All but the last two are plain data in, plain data out.
"""
