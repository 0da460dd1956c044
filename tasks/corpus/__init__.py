"""Parts that sources share: functions of files and texts, documentation pairs, merging."""
