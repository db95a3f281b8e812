import { useMemo } from "react";
import { Link, useParams } from "react-router";
import { hasFailed } from "../../components/failures";
import { runPath } from "../../components/links";
import { ErrorNote, Skeleton } from "../../components/notes";
import { RunZone } from "../run/run_zone";
import { InstancePage } from "./instance_page";
import { MappedPage } from "./mapped_page";
import { type InstanceName, useInstance, useIsMapped } from "./shape";

/** A task in a run: one instance, or the list of them where the task is mapped and none is named. */
export function Component() {
    const { dagId = "", runId = "", taskId = "", mapIndex = "-1" } = useParams();
    const name = useMemo(
        () => ({ dagId, runId, taskId, mapIndex: Number(mapIndex) }),
        [dagId, runId, taskId, mapIndex],
    );
    return (
        <RunZone dagId={dagId}>
            <One key={`${runId}/${taskId}/${mapIndex}`} name={name} />
        </RunZone>
    );
}

function One({ name }: { name: InstanceName }) {
    const isMapped = useIsMapped(name);
    const instance = useInstance(name, isMapped === false);
    if (isMapped === true) return <MappedPage name={name} />;
    if (hasFailed(instance)) {
        return (
            <ErrorNote error={instance.error}>
                <Link to={runPath(name.dagId, name.runId)}>Go to the run</Link>
            </ErrorNote>
        );
    }
    if (instance.data === undefined) return <Skeleton height="36rem" />;
    return <InstancePage name={name} instance={instance.data} />;
}
