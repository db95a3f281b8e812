-- One of each name can stay: everybody's, else that of the first team.
DELETE FROM connection AS one USING connection AS other
WHERE other.conn_id = one.conn_id AND other.team < one.team;
ALTER TABLE connection DROP CONSTRAINT connection_pkey;
ALTER TABLE connection DROP COLUMN team;
ALTER TABLE connection ADD CONSTRAINT connection_pkey PRIMARY KEY (conn_id);

DELETE FROM variable AS one USING variable AS other
WHERE other.key = one.key AND other.team < one.team;
ALTER TABLE variable DROP CONSTRAINT variable_pkey;
ALTER TABLE variable DROP COLUMN team;
ALTER TABLE variable ADD CONSTRAINT variable_pkey PRIMARY KEY (key);

ALTER TABLE slot_pool DROP COLUMN team;

DROP INDEX dag_of_team;
ALTER TABLE dag DROP COLUMN team;

DROP TABLE api_token;
DROP TABLE login_session;
DROP TABLE dag_grant;
DROP TABLE team_member;
DROP TABLE team_folder;
DROP TABLE team;
DROP TABLE role;

ALTER TABLE account DROP CONSTRAINT account_identity_key;
ALTER TABLE account DROP COLUMN last_login_at;
ALTER TABLE account DROP COLUMN identity;
ALTER TABLE account ADD COLUMN token_version INTEGER DEFAULT 0 NOT NULL;
-- No password fits this: the account waits for an administrator to give it one.
UPDATE account SET password_hash = '!' WHERE password_hash IS NULL;
ALTER TABLE account ALTER COLUMN password_hash SET NOT NULL;
-- Roles of one's own are gone.
UPDATE account SET role = 'Viewer' WHERE role NOT IN ('Viewer', 'User', 'Op', 'Admin');
