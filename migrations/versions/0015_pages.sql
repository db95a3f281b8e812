CREATE TABLE dag_favorite (
    username TEXT NOT NULL,
    dag_id TEXT NOT NULL,
    marked_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT dag_favorite_pkey PRIMARY KEY (username, dag_id),
    CONSTRAINT dag_favorite_username_fkey FOREIGN KEY(username) REFERENCES account (username) ON DELETE CASCADE,
    CONSTRAINT dag_favorite_dag_id_fkey FOREIGN KEY(dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);
CREATE INDEX dag_favorite_of_dag ON dag_favorite (dag_id);

CREATE INDEX dag_run_failed ON dag_run (run_after DESC, id DESC) WHERE state = 'failed';
CREATE INDEX dag_run_ended ON dag_run (ended_at DESC, id DESC) WHERE ended_at IS NOT NULL;

-- Tells open pages what changed, on the channel treadle_changes: one notification for each statement that changed
-- something, with the keys of what did. What does not fit a notification is told by the DAGs it belongs to, or by "*".
-- A trigger sees every writer; those of statements cost one call, however many rows they change.
CREATE FUNCTION treadle_tell(kind text, keys text[], wider_kind text, wider text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    payload text := kind || ' ' || array_to_string(keys, ',');
BEGIN
    IF keys IS NULL THEN
        RETURN;
    END IF;
    IF octet_length(payload) > 7900 THEN
        payload := wider_kind || ' ' || array_to_string(wider, ',');
    END IF;
    IF octet_length(payload) > 7900 THEN
        payload := wider_kind || ' *';
    END IF;
    PERFORM pg_notify('treadle_changes', payload);
END $$;

-- The rows are compared as sets: to join them row by row would take the square of their number.
CREATE FUNCTION treadle_tell_tasks_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM treadle_tell('task', array_agg(DISTINCT dag_run_id::text), 'dag', array_agg(DISTINCT dag_id))
    FROM (SELECT id, state, dag_run_id, dag_id FROM new_rows EXCEPT
          SELECT id, state, dag_run_id, dag_id FROM old_rows) AS moved;
    RETURN NULL;
END $$;

CREATE FUNCTION treadle_tell_tasks_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM treadle_tell('task', array_agg(DISTINCT dag_run_id::text), 'dag', array_agg(DISTINCT dag_id))
    FROM new_rows;
    RETURN NULL;
END $$;

CREATE FUNCTION treadle_tell_runs_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM treadle_tell('run', array_agg(DISTINCT id::text), 'dag', array_agg(DISTINCT dag_id))
    FROM (SELECT id, dag_id, state, note, ending, version_id, clear_number FROM new_rows EXCEPT
          SELECT id, dag_id, state, note, ending, version_id, clear_number FROM old_rows) AS moved;
    RETURN NULL;
END $$;

CREATE FUNCTION treadle_tell_runs_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM treadle_tell('run', array_agg(DISTINCT id::text), 'dag', array_agg(DISTINCT dag_id)) FROM new_rows;
    RETURN NULL;
END $$;

CREATE FUNCTION treadle_tell_runs_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM treadle_tell('dag', array_agg(DISTINCT dag_id), 'dag', NULL) FROM old_rows;
    RETURN NULL;
END $$;

CREATE FUNCTION treadle_tell_dags_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM treadle_tell('dag', array_agg(DISTINCT dag_id), 'dag', NULL)
    FROM (SELECT dag_id, is_paused, is_active, has_import_errors, version_id, team, next_run_at FROM new_rows EXCEPT
          SELECT dag_id, is_paused, is_active, has_import_errors, version_id, team, next_run_at FROM old_rows) AS other;
    RETURN NULL;
END $$;

CREATE FUNCTION treadle_tell_dags_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM treadle_tell('dag', array_agg(DISTINCT dag_id), 'dag', NULL) FROM new_rows;
    RETURN NULL;
END $$;

CREATE FUNCTION treadle_tell_assets_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM treadle_tell('asset', array_agg(DISTINCT asset_id::text), 'asset', NULL) FROM new_rows;
    RETURN NULL;
END $$;

-- For tables that change seldom: equal notifications of a transaction are one.
CREATE FUNCTION treadle_tell_kind() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('treadle_changes', TG_ARGV[0]);
    RETURN NULL;
END $$;

CREATE TRIGGER tell_moved AFTER UPDATE ON task_instance
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION treadle_tell_tasks_moved();
CREATE TRIGGER tell_made AFTER INSERT ON task_instance
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION treadle_tell_tasks_made();
CREATE TRIGGER tell_moved AFTER UPDATE ON dag_run
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION treadle_tell_runs_moved();
CREATE TRIGGER tell_made AFTER INSERT ON dag_run
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION treadle_tell_runs_made();
CREATE TRIGGER tell_gone AFTER DELETE ON dag_run
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION treadle_tell_runs_gone();
CREATE TRIGGER tell_changed AFTER UPDATE ON dag
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION treadle_tell_dags_changed();
CREATE TRIGGER tell_made AFTER INSERT ON dag
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION treadle_tell_dags_made();
CREATE TRIGGER tell_updated AFTER INSERT ON asset_event
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION treadle_tell_assets_updated();

CREATE TRIGGER tell_pool AFTER INSERT OR UPDATE OR DELETE ON slot_pool
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('pool');
CREATE TRIGGER tell_import_error AFTER INSERT OR UPDATE OR DELETE ON import_error
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('import_error');
CREATE TRIGGER tell_backfill AFTER INSERT OR UPDATE OR DELETE ON backfill
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('backfill');
CREATE TRIGGER tell_human_step AFTER INSERT OR UPDATE OR DELETE ON human_step
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('human_step');
CREATE TRIGGER tell_process AFTER INSERT OR UPDATE OF stopped_at ON process
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('process');

-- Rights: open streams are asked again what their accounts may see.
CREATE TRIGGER tell_rights AFTER UPDATE OR DELETE ON account
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('rights');
CREATE TRIGGER tell_rights AFTER INSERT OR UPDATE OR DELETE ON role
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('rights');
CREATE TRIGGER tell_rights AFTER INSERT OR UPDATE OR DELETE ON team_member
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('rights');
CREATE TRIGGER tell_rights AFTER INSERT OR UPDATE OR DELETE ON team_folder
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('rights');
CREATE TRIGGER tell_rights AFTER INSERT OR UPDATE OR DELETE ON dag_grant
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('rights');
CREATE TRIGGER tell_rights AFTER DELETE ON login_session
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('rights');
CREATE TRIGGER tell_rights AFTER DELETE ON api_token
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('rights');
