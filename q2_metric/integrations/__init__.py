"""Integrations with other frameworks: a file, or a folder, for each.

Each converts the framework's rows to examples, and the scores to the framework's results. Importing
this package imports no framework.
"""
