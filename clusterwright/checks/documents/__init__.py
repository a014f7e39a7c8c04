"""Proof of a written folder: every file is read by the program that it is for."""
