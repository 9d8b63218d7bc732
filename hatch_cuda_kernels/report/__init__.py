"""The report: what a wheel holds and costs, as one HTML file that loads nothing: no library, no font, no link.

Facts (``package``) -> figures of every kernel and architecture (``figures``) -> differences to an older wheel
(``compare``) -> what the charts show (``heat``, ``tree``) -> SVG by Vega (``charts``) -> the page (``page``).
All but the last two turn plain data into plain data.
"""
