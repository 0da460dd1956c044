# Raises errors whose names and modules are no text.
raise type("\udc80\x00\n!passed", (Exception,), {"__module__": 7, "__qualname__": "\ud800"})("\udfff")
