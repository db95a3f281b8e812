import { dagPath } from "../../components/links";
import { Tabs } from "../../components/tabs";
import { useAddress } from "./use_address";

const PARTS = [
    { path: "", label: "Grid" },
    { path: "/graph", label: "Graph" },
    { path: "/calendar", label: "Calendar" },
    { path: "/runs", label: "Runs" },
    { path: "/tasks", label: "Tasks" },
    { path: "/code", label: "Code" },
    { path: "/details", label: "Details" },
    { path: "/backfills", label: "Backfills" },
    { path: "/audit", label: "Audit" },
];

/** The parts of a DAG's page. The run that is chosen stays chosen from one to the next. */
export function DagTabs({ dagId }: { dagId: string }) {
    const [address] = useAddress();
    const run = address.get("run");
    const search = run === null ? "" : `?run=${encodeURIComponent(run)}`;
    const tabs = PARTS.map(({ path, label }) => ({
        to: `${dagPath(dagId)}${path}${search}`,
        label,
        end: path === "",
    }));
    return <Tabs label="Parts of the DAG" tabs={tabs} />;
}
