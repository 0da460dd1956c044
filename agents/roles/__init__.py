"""The agents: a file and a system text (``.txt``) for each.

To add an agent, add a subclass of ``Agent`` with its ``role`` and ``reply_type``, and the text
``<role>.txt``; where it takes part is for ``agents.committee`` to say.
"""
