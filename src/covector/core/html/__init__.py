"""What notebooks show of arrays, programs, meshes and shardings: ``_repr_html_``.

Nothing here is imported before a notebook asks for it. Each answer is one fragment of
HTML with its style inside: no scripts, nothing loaded from elsewhere, and no library
besides NumPy. It takes the colour of text from the page, so it is legible on light and
on dark ones.
"""
