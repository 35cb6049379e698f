"""The documentation as a site: what MkDocs does not do by itself.

The API reference is made from the docstrings when the site is built; nothing of it is
checked in.

    contents       the table: which pages there are, and which names stand on each
    definitions    where a public name is defined: found in the sources, as editors do
    signatures     what a function takes, as its source says it
    class_members  what a class has: methods and attributes
    docstrings     a docstring as Markdown
    entries        a public name as Markdown: signature, docstring, link to the source
    pages          the pages of the reference, and those of the sources
    gallery        runs the programs of the gallery, and makes pages of them
    hook           gives them to MkDocs
    look           reads the finished site in a browser, on a narrow and a wide screen
"""
