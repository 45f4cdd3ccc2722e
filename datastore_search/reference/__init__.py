"""
The reference of the API, as pages in the language of the path.

The pages need no script and no other package.  ``openapi`` describes the same actions to programs.
"""
