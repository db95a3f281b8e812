import { useMutation } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { queries } from "../../api/queries";
import styles from "./dags.module.css";

interface Dag {
    dag_id: string;
    name: string;
    is_favorite: boolean;
}

/** Makes a DAG one of this person's favourites, or no more. */
export function Star({ dag }: { dag: Dag }) {
    const path = { params: { path: { dag_id: dag.dag_id } } };
    const change = useMutation({
        mutationFn: (on: boolean) =>
            answered(on ? api.PUT("/ui/favorites/{dag_id}", path) : api.DELETE("/ui/favorites/{dag_id}", path)),
        onSettled: () =>
            Promise.all([
                queries.invalidateQueries({ queryKey: keys.dags }),
                queries.invalidateQueries({ queryKey: keys.dagOverview(dag.dag_id, "head") }),
            ]),
    });
    const isOn = change.isPending ? change.variables : dag.is_favorite;
    return (
        <button
            type="button"
            className={styles.star}
            aria-pressed={isOn}
            aria-label={`${dag.name} is a favourite`}
            title={isOn ? "Take it from the favourites" : "Make it a favourite"}
            onClick={() => change.mutate(!isOn)}
        >
            {isOn ? "★" : "☆"}
        </button>
    );
}
