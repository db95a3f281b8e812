import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../api/client";

/** The first page: what runs this installation, and whether it is well. */
export function Component() {
    const health = useQuery({
        queryKey: ["health"],
        queryFn: () => answered(api.GET("/api/v2/monitor/health")),
    });
    return (
        <>
            <h1>Home</h1>
            <pre>{JSON.stringify(health.data, null, 2)}</pre>
        </>
    );
}
