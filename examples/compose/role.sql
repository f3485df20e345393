-- Runs once, when the database server of compose.yaml is new. Doorward's role owns its database and nothing else.
\getenv password POSTGRES_PASSWORD
CREATE ROLE doorward LOGIN PASSWORD :'password';
CREATE DATABASE doorward OWNER doorward;
-- The image has given this password to the superuser.
ALTER ROLE postgres PASSWORD NULL;
