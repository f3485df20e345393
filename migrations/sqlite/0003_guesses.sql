-- How many codes were typed for a one-time secret or an invitation. Its code is void after ten.
ALTER TABLE one_times ADD COLUMN guesses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE invitations ADD COLUMN guesses INTEGER NOT NULL DEFAULT 0;
