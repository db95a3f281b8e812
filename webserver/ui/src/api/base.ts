/** Where the server is: its base path, which it writes into `<base>` of the page; it ends with a slash. */
export const BASE_PATH: string = new URL(document.baseURI).pathname.replace(/[^/]*$/, "");

/** The same without the last slash, as routers and API clients want it. */
export const BASE: string = BASE_PATH.replace(/\/$/, "");
