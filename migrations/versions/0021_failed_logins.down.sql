DROP TABLE failed_login;
