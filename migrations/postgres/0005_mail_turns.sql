-- The order in which mail is sent: the earliest `turn_at` first. Null while a mail waits until `due_at` to be tried again.
ALTER TABLE outbox ADD COLUMN IF NOT EXISTS turn_at BIGINT;

CREATE INDEX IF NOT EXISTS outbox_by_turn ON outbox (given_up_at, turn_at, due_at, id);

DROP INDEX IF EXISTS outbox_by_due_time;
