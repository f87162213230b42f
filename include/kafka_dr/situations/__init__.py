"""Which situation a group is in, in one sentence, and the one step that helps: judged from what is known already.

Every page, the command line, notifications and run notes show this one judgement.
"""
