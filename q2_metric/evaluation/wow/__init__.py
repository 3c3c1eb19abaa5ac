"""Evaluates metrics on Wizard of Wikipedia, with the experiments of the Q² paper."""
