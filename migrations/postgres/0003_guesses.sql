-- How many codes were typed for a one-time secret or an invitation. Its code is void after ten. Rows that are older than the
-- column have null in it.
ALTER TABLE one_times ADD COLUMN IF NOT EXISTS guesses BIGINT;

ALTER TABLE invitations ADD COLUMN IF NOT EXISTS guesses BIGINT;
