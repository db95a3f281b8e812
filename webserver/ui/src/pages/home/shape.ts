import type { Got } from "../../api/client";

export type Home = Got<"/ui/home">;
