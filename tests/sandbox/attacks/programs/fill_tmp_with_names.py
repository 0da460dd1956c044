# Uses up the folder's file names.
for number in range(10_000_000):
    open(f"/tmp/{number}", "w").close()
