DROP TRIGGER tell_rights ON account;
CREATE TRIGGER tell_rights AFTER UPDATE OF role, is_active OR DELETE ON account
    FOR EACH ROW EXECUTE FUNCTION treadle_tell_kind('rights');
