CREATE INDEX asset_alias_event_of_event ON asset_alias_event (event_id);
