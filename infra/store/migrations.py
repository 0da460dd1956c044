"""How stores of earlier releases become this one's: nothing in them is lost.

A change of ``schema.sql`` raises the version in ``database.py`` and adds a step here.
"""

UPGRADES = {  # from version → statements that lead to the next
    2: """
        ALTER TABLE searches ADD COLUMN pool BOOLEAN DEFAULT false;
        ALTER TABLE recipes ADD COLUMN used_at TIMESTAMPTZ DEFAULT now();
    """,
}
