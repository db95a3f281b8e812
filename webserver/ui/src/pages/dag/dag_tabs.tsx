import { dagPath } from "../../components/links";
import { Tabs } from "../../components/tabs";
import { useAddress } from "./use_address";

const PARTS = [
    { path: "", label: "Grid" },
    { path: "/graph", label: "Graph" },
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
