"""The agents by subject, a system text (``.txt``) for each, and what several of them use.

To add an agent, add a subclass of ``Agent`` with its ``role`` and ``reply_type``, and the text
``<role>.txt``, and let it take part in `agents.committee.configurations` and ``algorithm``.
"""
