import { useMutation } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { queries } from "../../api/queries";
import { may, useMe } from "../../api/rights";
import { Switch } from "../../components/switch";

interface Dag {
    dag_id: string;
    name: string;
    is_paused: boolean;
}

/** Pauses and unpauses a DAG; shows the change at once and takes it back if the server refuses. */
export function OnSwitch({ dag }: { dag: Dag }) {
    const me = useMe();
    const change = useMutation({
        mutationFn: (on: boolean) =>
            answered(
                api.PATCH("/api/v2/dags/{dag_id}", {
                    params: { path: { dag_id: dag.dag_id } },
                    body: { is_paused: !on },
                }),
            ),
        onSettled: () =>
            Promise.all([
                queries.invalidateQueries({ queryKey: keys.dags }),
                queries.invalidateQueries({ queryKey: keys.dagOverview(dag.dag_id) }),
            ]),
    });
    const isOn = change.isPending ? change.variables : !dag.is_paused;
    return (
        <Switch
            label={`${dag.name} is ${isOn ? "on" : "paused"}`}
            on={isOn}
            disabled={!may(me, "edit DAGs", dag.dag_id)}
            onChange={change.mutate}
        />
    );
}
