CREATE TABLE sensor_wait (
    task_instance_id BIGINT NOT NULL,
    month DATE NOT NULL,
    attempt_id UUID NOT NULL,
    mode TEXT NOT NULL,
    began_at TIMESTAMP WITH TIME ZONE NOT NULL,
    gives_up_at TIMESTAMP WITH TIME ZONE NOT NULL,
    pokes INTEGER NOT NULL,
    CONSTRAINT sensor_wait_pkey PRIMARY KEY (task_instance_id, month)
) PARTITION BY RANGE (month);

CREATE TABLE human_step (
    task_instance_id BIGINT NOT NULL,
    month DATE NOT NULL,
    try_number INTEGER NOT NULL,
    subject TEXT NOT NULL,
    body TEXT,
    options JSONB NOT NULL,
    defaults JSONB,
    multiple BOOLEAN NOT NULL,
    params JSONB NOT NULL,
    assignees JSONB NOT NULL,
    asked_at TIMESTAMP WITH TIME ZONE NOT NULL,
    due_at TIMESTAMP WITH TIME ZONE,
    answered_at TIMESTAMP WITH TIME ZONE,
    answered_by TEXT,
    chosen JSONB,
    given JSONB,
    timed_out BOOLEAN DEFAULT false NOT NULL,
    withdrawn_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT human_step_pkey PRIMARY KEY (task_instance_id, try_number, month)
) PARTITION BY RANGE (month);

CREATE INDEX human_step_open ON human_step (asked_at, task_instance_id)
    WHERE answered_at IS NULL AND withdrawn_at IS NULL;

-- Runs of these months may be under way; a scheduler makes those of the months to come.
DO $$
DECLARE
    months RECORD;
    parent TEXT;
BEGIN
    FOR months IN
        SELECT substring(child.relname FROM '\d{4}_\d{2}$') AS name FROM pg_inherits
        JOIN pg_class AS child ON child.oid = inhrelid WHERE inhparent = 'task_instance'::regclass
    LOOP
        FOREACH parent IN ARRAY ARRAY['sensor_wait', 'human_step'] LOOP
            EXECUTE 'CREATE TABLE ' || quote_ident(parent || '_' || months.name) || ' PARTITION OF ' || parent
                || ' FOR VALUES FROM (' || quote_literal(to_date(months.name, 'YYYY_MM')) || ') TO ('
                || quote_literal((to_date(months.name, 'YYYY_MM') + interval '1 month')::date) || ')';
        END LOOP;
    END LOOP;
END
$$;
