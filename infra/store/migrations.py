"""SQL statements that upgrade stores of earlier schema versions without loss.

Whoever changes ``schema.sql`` raises the version in ``database.py`` and adds a step here.
"""

UPGRADES = {  # version → statements that upgrade it to the next
    2: """
        ALTER TABLE searches ADD COLUMN pool BOOLEAN DEFAULT false;
        ALTER TABLE recipes ADD COLUMN used_at TIMESTAMPTZ DEFAULT now();
    """,
    3: "ALTER TABLE executions ADD COLUMN details JSON;",
}
