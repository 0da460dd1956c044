"""What sources share: functions of Python files, documentation pairs, merging of collections."""
