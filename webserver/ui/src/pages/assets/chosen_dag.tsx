import { Link } from "react-router";
import { Fact, Facts } from "../../components/facts";
import { dagPath } from "../../components/links";
import { Panel } from "../../components/page";
import styles from "./assets.module.css";
import { type AssetGraph, nameOf } from "./model";

interface ChosenDagProps {
    dag: AssetGraph["dags"][number];
    graph: AssetGraph;
}

/** Which assets the DAG that is chosen makes and takes, and the way to it. */
export function ChosenDag({ dag, graph }: ChosenDagProps) {
    const assetsOf = (role: string) => [
        ...new Set(graph.edges.filter((edge) => edge.dag_id === dag.dag_id && edge.role === role).map((e) => e.asset)),
    ];
    return (
        <Panel title={dag.name}>
            <Facts>
                <Fact name="Started by">
                    <Assets ids={assetsOf("schedule")} />
                </Fact>
                <Fact name="Makes">
                    <Assets ids={assetsOf("outlet")} />
                </Fact>
                <Fact name="Reads">
                    <Assets ids={assetsOf("inlet")} />
                </Fact>
            </Facts>
            <p>
                <Link to={dagPath(dag.dag_id)}>Go to the DAG</Link>
            </p>
        </Panel>
    );
}

function Assets({ ids }: { ids: readonly string[] }) {
    if (ids.length === 0) return "no asset";
    return (
        <span className={styles.links}>
            {ids.map((id) => (
                <Link key={id} to={`?asset=${encodeURIComponent(id)}`}>
                    {nameOf(id)}
                </Link>
            ))}
        </span>
    );
}
