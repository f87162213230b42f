"""Offset syncs of MirrorMaker 2: decoded, archived below the evidence root, and looked up."""
