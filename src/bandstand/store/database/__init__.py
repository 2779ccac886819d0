"""Opening a database: SQLite and PostgreSQL, migrations, the group writer."""
