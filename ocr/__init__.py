"""Pixels to words: which pages need it, rendering them, and the engines that read them.

Depends on ``schemas`` alone; boxes are in pixels of the image that was read, and whoever rendered
the image maps them to points.
"""
