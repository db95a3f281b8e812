import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { ApiError, answered, api, type Got } from "../../api/client";
import { keys } from "../../api/keys";
import { may, useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { Dialog } from "../../components/dialog";
import { hasFailed } from "../../components/failures";
import { FormError } from "../../components/faults";
import { Check } from "../../components/field";
import { runPath } from "../../components/links";
import { ErrorNote, Skeleton } from "../../components/notes";
import { Refusable } from "../../components/refusable";
import styles from "../forms.module.css";
import { ParamField } from "../param_field";
import { confOf, faultOf, nameOf, paramsOf } from "../params";
import { prospect } from "./prospect";
import { EMPTY, RunFields, type RunTexts, runBodyOf } from "./run_fields";

interface TriggerDialogProps {
    dagId: string;
    onClose: () => void;
}

/** Asks for the params of a new run, says what will become of it, and goes to it. */
export function TriggerDialog({ dagId, onClose }: TriggerDialogProps) {
    const dag = useQuery({
        queryKey: keys.dagOverview(dagId, "head"),
        queryFn: () => answered(api.GET("/ui/dags/{dag_id}", { params: { path: { dag_id: dagId } } })),
    });
    if (dag.data !== undefined) return <TriggerForm dag={dag.data} onClose={onClose} />;
    return (
        <Dialog title={`Trigger ${dagId}`} onClose={onClose}>
            {hasFailed(dag) ? <ErrorNote error={dag.error} /> : <Skeleton height="12rem" />}
        </Dialog>
    );
}

function TriggerForm({ dag, onClose }: { dag: Got<"/ui/dags/{dag_id}">; onClose: () => void }) {
    const [texts, setTexts] = useState<Record<string, string>>({});
    const [run, setRun] = useState<RunTexts>(EMPTY);
    const me = useMe();
    const [turnsOn, setTurnsOn] = useState(dag.is_paused && may(me, "edit DAGs", dag.dag_id));
    const params = paramsOf(dag.params);
    const trigger = useTrigger(dag.dag_id, onClose);
    const submit = () => trigger.mutate({ run, turnsOn, ...confOf(params, texts) });
    return (
        <Dialog
            title={`Trigger ${dag.name}`}
            onClose={onClose}
            actions={
                <Button look="main" onClick={submit} disabled={trigger.isPending}>
                    Trigger a run
                </Button>
            }
        >
            <Refusable error={trigger.error} className={styles.form}>
                <p className={styles.will}>{prospect(dag, turnsOn)}</p>
                {Object.entries(params).map(([name, param]) => (
                    <ParamField
                        key={name}
                        name={name}
                        param={param}
                        text={texts[name]}
                        onText={(text) => setTexts({ ...texts, [name]: text })}
                    />
                ))}
                <RunFields texts={run} onTexts={setRun} isOpen={Object.keys(params).length === 0} />
                {dag.is_paused && may(me, "edit DAGs", dag.dag_id) && (
                    <Check
                        label="Turn the DAG on"
                        checked={turnsOn}
                        onChange={(event) => setTurnsOn(event.target.checked)}
                    />
                )}
            </Refusable>
        </Dialog>
    );
}

interface Made {
    dag_run_id: string;
    conf_warnings?: string[];
}

interface Wish {
    run: RunTexts;
    turnsOn: boolean;
    conf: Record<string, unknown>;
    problems: Record<string, string>;
}

/** The server tells what is wrong with a param in its sentence. */
function atParam(error: unknown): never {
    const fault = error instanceof ApiError ? faultOf(error.message) : null;
    throw fault === null ? error : new FormError([{ field: nameOf(fault.name), words: fault.problem }]);
}

/** Makes the run, and goes to it; what is wrong with a param is told at its field. */
function useTrigger(dagId: string, onClose: () => void) {
    const navigate = useNavigate();
    const path = { dag_id: dagId };
    return useMutation({
        mutationFn: async ({ run, turnsOn, conf, problems }: Wish) => {
            const faults = Object.entries(problems).map(([name, words]) => ({ field: nameOf(name), words }));
            if (faults.length > 0) throw new FormError(faults);
            const body = runBodyOf(run, conf);
            const asked = answered(api.POST("/api/v2/dags/{dag_id}/dagRuns", { params: { path }, body }));
            const made = await asked.catch(atParam);
            if (turnsOn)
                await answered(api.PATCH("/api/v2/dags/{dag_id}", { params: { path }, body: { is_paused: false } }));
            return made;
        },
        onSuccess: (made) => {
            onClose();
            const { dag_run_id: runId, conf_warnings: warnings } = made as Made;
            // What the conf had that nearly names a param is told on the page of the run.
            navigate(runPath(dagId, runId), { state: { warnings } });
        },
    });
}
